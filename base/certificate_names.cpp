// SPDX-License-Identifier: Apache-2.0
#include "base/certificate_names.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/logging.h"
#include "base/releaser.h"

namespace scout {
namespace {

using Names = std::unique_ptr<GENERAL_NAMES, Releaser<GENERAL_NAMES_free>>;

constexpr std::size_t longest_dns_name = 253;

bool is_dns_name(std::string_view name) {
    constexpr std::string_view others = "-.*";
    return !name.empty() && name.size() <= longest_dns_name &&
           std::all_of(name.begin(), name.end(), [others](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      others.find(c) != std::string_view::npos;
           });
}

/// The bytes of one alternative name and what they are.
Result<std::pair<int, std::string>> name_of(const std::string& text) {
    boost::system::error_code no_address;
    const auto address = boost::asio::ip::make_address(text, no_address);
    if (no_address) {
        if (!is_dns_name(text)) {
            return fail(
                Errc::invalid,
                "expected a DNS name or an address for a certificate, found " + log_value(text));
        }
        return std::pair{int{GEN_DNS}, text};
    }
    std::string bytes;
    if (address.is_v4()) {
        const auto raw = address.to_v4().to_bytes();
        bytes.assign(raw.begin(), raw.end());
    } else {
        const auto raw = address.to_v6().to_bytes();
        bytes.assign(raw.begin(), raw.end());
    }
    return std::pair{int{GEN_IPADD}, std::move(bytes)};
}

bool add(GENERAL_NAMES* names, int kind, const std::string& bytes) {
    std::unique_ptr<GENERAL_NAME, Releaser<GENERAL_NAME_free>> name{GENERAL_NAME_new()};
    ASN1_STRING* const value =
        ASN1_STRING_type_new(kind == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);
    if (!name || value == nullptr) {
        return false;
    }
    GENERAL_NAME_set0_value(name.get(), kind, value);
    if (ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size())) != 1 ||
        sk_GENERAL_NAME_push(names, name.get()) == 0) {
        return false;
    }
    static_cast<void>(name.release());
    return true;
}

}  // namespace

Status add_names(X509* certificate, const std::vector<std::string>& names) {
    const Names list{sk_GENERAL_NAME_new_null()};
    for (const auto& text : names) {
        const auto name = name_of(text);
        if (!name) {
            return fail(name.error());
        }
        if (!add(list.get(), name->first, name->second)) {
            ERR_clear_error();
            return fail(Errc::internal, "OpenSSL failed to name a certificate");
        }
    }
    if (!names.empty() && X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0,
                                            X509V3_ADD_DEFAULT) != 1) {
        ERR_clear_error();
        return fail(Errc::internal, "OpenSSL failed to name a certificate");
    }
    return {};
}

}  // namespace scout
