// SPDX-License-Identifier: Apache-2.0
#include "tests/wire/certificates.h"

#include <fstream>
#include <stdexcept>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace scout::test {
namespace {

constexpr long one_day_s = 24L * 3600L;

template <auto Release>
struct Releaser {
    template <class T>
    void operator()(T* object) const noexcept {
        Release(object);
    }
};
using Certificate = std::unique_ptr<X509, Releaser<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Releaser<BIO_free_all>>;

void need(bool good, const char* step) {
    if (!good) {
        throw std::runtime_error(std::string{"test certificates: "} + step);
    }
}

Key make_key() {
    Key key{EVP_EC_gen("P-256")};
    need(key != nullptr, "key");
    return key;
}

Certificate start_certificate(EVP_PKEY* key, const std::string& common_name, long serial) {
    Certificate certificate{X509_new()};
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -one_day_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), one_day_s);
    X509_set_pubkey(certificate.get(), key);
    const auto* text = reinterpret_cast<const unsigned char*>(common_name.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC, text,
                               -1, -1, 0);
    return certificate;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    need(extension != nullptr, "extension");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

void write(const std::filesystem::path& path, BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::ofstream{path} << std::string_view{data, static_cast<std::size_t>(size)};
}

void write_certificate(const std::filesystem::path& path, X509* certificate) {
    const Bio bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_X509(bio.get(), certificate);
    write(path, bio.get());
}

}  // namespace

struct Authority::Material {
    Key key = make_key();
    Certificate certificate;
};

Authority::Authority(const std::string& name) : material_(std::make_unique<Material>()) {
    material_->certificate = start_certificate(material_->key.get(), name, 1);
    X509* own = material_->certificate.get();
    X509_set_issuer_name(own, X509_get_subject_name(own));
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
    extend(own, own, NID_key_usage, "critical,keyCertSign");
    need(X509_sign(own, material_->key.get(), EVP_sha256()) > 0, "sign the authority");
}

Authority::~Authority() = default;

void Authority::issue(const std::filesystem::path& folder, const std::string& common_name,
                      const std::string& dns_name) const {
    std::filesystem::create_directories(folder);
    const Key key = make_key();
    const auto certificate = start_certificate(key.get(), common_name, 2);
    X509* issuer = material_->certificate.get();
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
    const std::string dns = dns_name.empty() ? "" : ",DNS:" + dns_name;
    extend(certificate.get(), issuer, NID_subject_alt_name, "IP:127.0.0.1" + dns);
    need(X509_sign(certificate.get(), material_->key.get(), EVP_sha256()) > 0, "sign");
    write_certificate(folder / "ca.pem", issuer);
    write_certificate(folder / "certificate.pem", certificate.get());
    const Bio bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    write(folder / "key.pem", bio.get());
}

}  // namespace scout::test
