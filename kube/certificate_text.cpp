// SPDX-License-Identifier: Apache-2.0
#include "kube/certificate_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <openssl/asn1.h>
#include <openssl/x509v3.h>

#include "base/logging.h"
#include "base/openssl_handles.h"
#include "base/releaser.h"

namespace scout::kube {
namespace {

constexpr std::size_t most_names = 10;

using openssl::Bio;
using Names = std::unique_ptr<GENERAL_NAMES, Releaser<GENERAL_NAMES_free>>;

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string{};
}

std::string time_text(const ASN1_TIME* time) {
    const Bio bio{BIO_new(BIO_s_mem())};
    ASN1_TIME_print(bio.get(), time);
    return text_of(bio.get());
}

std::string name_text(const X509_NAME* name) {
    const Bio bio{BIO_new(BIO_s_mem())};
    X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
    return log_value(text_of(bio.get()));
}

std::string_view bytes_of(const ASN1_STRING* text) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(std::string_view bytes) {
    boost::asio::ip::address_v4::bytes_type v4{};
    boost::asio::ip::address_v6::bytes_type v6{};
    if (bytes.size() == v4.size()) {
        std::copy(bytes.begin(), bytes.end(), v4.begin());
        return boost::asio::ip::address_v4{v4}.to_string();
    }
    if (bytes.size() == v6.size()) {
        std::copy(bytes.begin(), bytes.end(), v6.begin());
        return boost::asio::ip::address_v6{v6}.to_string();
    }
    return {};
}

std::string alternative_names(const X509* certificate) {
    const Names names{static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
    std::string list;
    std::size_t count = 0;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        int kind = 0;
        const auto* value = static_cast<const ASN1_STRING*>(
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind));
        std::string name;
        if (kind == GEN_DNS) {
            name = log_value(bytes_of(value));
        } else if (kind == GEN_IPADD) {
            name = address_text(bytes_of(value));
        }
        if (!name.empty() && ++count <= most_names) {
            list += (list.empty() ? "" : ", ") + name;
        }
    }
    return list.empty() ? "no name at all" : list + (count > most_names ? ", …" : "");
}

}  // namespace

std::string why_refused(X509_STORE_CTX* store, const std::string& expected_name) {
    const int code = X509_STORE_CTX_get_error(store);
    const X509* certificate = X509_STORE_CTX_get_current_cert(store);
    std::string reason = X509_verify_cert_error_string(code);
    if (certificate == nullptr) {
        return reason;
    }
    switch (code) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "expected a certificate for '" + expected_name + "', found one for " +
                   alternative_names(certificate);
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return reason + ": valid until " + time_text(X509_get0_notAfter(certificate));
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return reason + ": valid from " + time_text(X509_get0_notBefore(certificate)) +
                   "; is the clock right?";
        default:
            return reason + ": expected one that leads to the certificate authority given, found " +
                   name_text(X509_get_subject_name(certificate)) + " issued by " +
                   name_text(X509_get_issuer_name(certificate));
    }
}

}  // namespace scout::kube
