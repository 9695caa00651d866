// SPDX-License-Identifier: Apache-2.0
#include "base/certificates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/logging.h"
#include "base/openssl_handles.h"
#include "base/releaser.h"

namespace scout {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Key;
using Extension = std::unique_ptr<X509_EXTENSION, Releaser<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Releaser<GENERAL_NAMES_free>>;
using Time = std::unique_ptr<ASN1_TIME, Releaser<ASN1_TIME_free>>;

constexpr std::size_t longest_common_name = 64;
constexpr std::size_t longest_dns_name = 253;
/// RFC 5280 allows 20 octets, of which the sign takes a bit.
constexpr std::size_t serial_bytes = 16;

/// What OpenSSL has to say is of no use to a person, and must not be told to the next caller.
tl::unexpected<Error> broken(std::string message, Errc code = Errc::invalid) {
    ERR_clear_error();
    return fail(code, std::move(message));
}

tl::unexpected<Error> out_of_order(std::string_view step) {
    return broken("OpenSSL failed to " + std::string{step}, Errc::internal);
}

/// A key that asks for a password must not stop a daemon at a prompt.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
    return 0;
}

Bio reader_of(std::string_view text) {
    return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

Certificate next_certificate(BIO* from) {
    Certificate certificate{PEM_read_bio_X509(from, nullptr, no_password, nullptr)};
    ERR_clear_error();
    return certificate;
}

Result<Certificate> read_certificate(std::string_view text) {
    auto certificate = next_certificate(reader_of(text).get());
    if (!certificate) {
        return broken("expected a certificate in PEM form, found none");
    }
    return certificate;
}

Result<Key> read_key(std::string_view text) {
    Key key{PEM_read_bio_PrivateKey(reader_of(text).get(), nullptr, no_password, nullptr)};
    if (!key) {
        return broken("expected a private key in PEM form without a password, found none");
    }
    return key;
}

struct Pair {
    Certificate certificate;
    Key key;
};

Result<Pair> read_pair(const CertifiedKey& text) {
    auto certificate = read_certificate(text.chain);
    if (!certificate) {
        return fail(std::move(certificate.error()));
    }
    auto key = read_key(text.key);
    if (!key) {
        return fail(std::move(key.error()));
    }
    if (X509_check_private_key(certificate->get(), key->get()) != 1) {
        return broken("expected the private key of the certificate, found another one");
    }
    return Pair{.certificate = *std::move(certificate), .key = *std::move(key)};
}

/// Memory of a BIO is overwritten when it is released.
std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string{};
}

Result<CertifiedKey> text_of(X509* certificate, EVP_PKEY* key) {
    const Bio chain{BIO_new(BIO_s_mem())};
    const Bio secret{BIO_new(BIO_s_mem())};
    if (PEM_write_bio_X509(chain.get(), certificate) != 1 ||
        PEM_write_bio_PrivateKey(secret.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return out_of_order("write a certificate");
    }
    return CertifiedKey{.chain = text_of(chain.get()), .key = text_of(secret.get())};
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, serial_bytes> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        return false;
    }
    bytes.front() = static_cast<unsigned char>((bytes.front() & 0x3fU) | 0x40U);
    const std::unique_ptr<BIGNUM, Releaser<BN_free>> number{
        BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr)};
    return number &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, const Validity& validity) {
    const auto seconds = [](WallTime time) {
        return static_cast<std::time_t>(
            std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    };
    // It writes two digits of the year before 2050 and four from then on, as RFC 5280 wants it.
    return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(validity.from)) != nullptr &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(validity.until)) != nullptr;
}

bool set_common_name(X509* certificate, const std::string& name) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                      MBSTRING_UTF8, bytes, static_cast<int>(name.size()), -1,
                                      0) == 1;
}

/// `value` is constant text of ours: OpenSSL reads a small language there.
bool extend(X509* certificate, X509* issuer, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Extension extension{X509V3_EXT_conf_nid(nullptr, &context, kind, value)};
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

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

Status add_names(X509* certificate, const std::vector<std::string>& names) {
    const Names list{sk_GENERAL_NAME_new_null()};
    for (const auto& text : names) {
        const auto name = name_of(text);
        if (!name) {
            return fail(name.error());
        }
        if (!add(list.get(), name->first, name->second)) {
            return out_of_order("name a certificate");
        }
    }
    if (!names.empty() && X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0,
                                            X509V3_ADD_DEFAULT) != 1) {
        return out_of_order("name a certificate");
    }
    return {};
}

const char* usage_of(CertificatePurpose purpose) {
    switch (purpose) {
        case CertificatePurpose::server:
            return "serverAuth";
        case CertificatePurpose::client:
            return "clientAuth";
        case CertificatePurpose::both:
            return "serverAuth,clientAuth";
    }
    return "";
}

/// A new key and the begin of its certificate: all that an authority and others have in common.
Result<Pair> begin(const std::string& common_name, const Validity& validity) {
    if (common_name.empty() || common_name.size() > longest_common_name) {
        return fail(Errc::invalid,
                    "expected a common name of 1 to 64 bytes, found " + log_value(common_name));
    }
    Pair pair{.certificate = Certificate{X509_new()}, .key = Key{EVP_EC_gen("P-256")}};
    X509* const certificate = pair.certificate.get();
    if (!pair.certificate || !pair.key || X509_set_version(certificate, X509_VERSION_3) != 1 ||
        !set_serial(certificate) || !set_validity(certificate, validity) ||
        X509_set_pubkey(certificate, pair.key.get()) != 1) {
        return out_of_order("begin a certificate");
    }
    if (!set_common_name(certificate, common_name)) {
        return broken("expected a common name in UTF-8, found " + log_value(common_name));
    }
    return pair;
}

/// The extensions that tell keys apart, and the signature.
Result<CertifiedKey> finish(const Pair& made, X509* issuer, EVP_PKEY* issuer_key) {
    X509* const certificate = made.certificate.get();
    if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
        !extend(certificate, issuer, NID_subject_key_identifier, "hash") ||
        !extend(certificate, issuer, NID_authority_key_identifier, "keyid:always") ||
        X509_sign(certificate, issuer_key, EVP_sha256()) <= 0) {
        return out_of_order("sign a certificate");
    }
    return text_of(certificate, made.key.get());
}

Validity read_validity(const X509* certificate) {
    const auto time = [](const ASN1_TIME* text) {
        std::tm parts{};
        ASN1_TIME_to_tm(text, &parts);
        return WallTime{std::chrono::seconds{::timegm(&parts)}};
    };
    return {.from = time(X509_get0_notBefore(certificate)),
            .until = time(X509_get0_notAfter(certificate))};
}

}  // namespace

Result<CertifiedKey> make_authority(const std::string& common_name, Validity validity) {
    auto made = begin(common_name, validity);
    if (!made) {
        return fail(std::move(made.error()).within("make an authority"));
    }
    X509* const own = made->certificate.get();
    if (!extend(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign")) {
        return out_of_order("make an authority");
    }
    return finish(*made, own, made->key.get());
}

Result<CertifiedKey> issue_certificate(const CertifiedKey& authority,
                                       const CertificateRequest& request) {
    const auto issuer = read_pair(authority);
    if (!issuer) {
        auto error = issuer.error();
        return fail(std::move(error).within("certificate authority"));
    }
    auto made = begin(request.common_name, request.validity);
    if (!made) {
        return made.map([](const Pair&) { return CertifiedKey{}; });
    }
    X509* const own = made->certificate.get();
    X509* const signer = issuer->certificate.get();
    if (!extend(own, signer, NID_basic_constraints, "critical,CA:FALSE") ||
        !extend(own, signer, NID_key_usage, "critical,digitalSignature") ||
        !extend(own, signer, NID_ext_key_usage, usage_of(request.purpose))) {
        return out_of_order("issue a certificate");
    }
    if (auto named = add_names(own, request.names); !named) {
        return fail(std::move(named.error()));
    }
    return finish(*made, signer, issuer->key.get());
}

Result<Validity> validity_of(std::string_view certificate) {
    return read_certificate(certificate).map([](const Certificate& read) {
        return read_validity(read.get());
    });
}

Status check_key(const CertifiedKey& pair) {
    return read_pair(pair).map([](const Pair&) {});
}

Status check_authority(const CertifiedKey& pair) {
    const auto read = read_pair(pair);
    if (!read) {
        return fail(read.error());
    }
    if (X509_check_ca(read->certificate.get()) != 1) {
        return broken("expected the certificate of an authority, found one that may sign none");
    }
    return {};
}

Status check_signature(std::string_view certificate, std::string_view authorities) {
    const auto signed_one = read_certificate(certificate);
    if (!signed_one) {
        return fail(signed_one.error());
    }
    const auto all = reader_of(authorities);
    bool any = false;
    while (const auto authority = next_certificate(all.get())) {
        any = true;
        if (X509_verify(signed_one->get(), X509_get0_pubkey(authority.get())) == 1) {
            return {};
        }
    }
    if (!any) {
        return broken("expected certificates of authorities in PEM form, found none");
    }
    return broken("expected a certificate signed by the authority given, found another signer",
                  Errc::refused);
}

void cleanse(std::string& secret) noexcept {
    OPENSSL_cleanse(secret.data(), secret.size());
    secret.clear();
}

}  // namespace scout
