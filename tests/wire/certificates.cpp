// SPDX-License-Identifier: Apache-2.0
#include "tests/wire/certificates.h"

#include <fstream>
#include <stdexcept>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/openssl_handles.h"

namespace scout::test {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Key;

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

Certificate start_certificate(EVP_PKEY* key, const Authority::Spec& spec, long serial) {
    Certificate certificate{X509_new()};
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), spec.valid_from.count());
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), spec.valid_until.count());
    X509_set_pubkey(certificate.get(), key);
    const auto* text = reinterpret_cast<const unsigned char*>(spec.common_name.c_str());
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

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
    const Bio bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_X509(bio.get(), certificate);
    return text_of(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
    const Bio bio{BIO_new(BIO_s_mem())};
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(bio.get());
}

}  // namespace

struct Authority::Material {
    Key key = make_key();
    Certificate certificate;
};

Authority::Authority(const std::string& name) : material_(std::make_unique<Material>()) {
    material_->certificate = start_certificate(material_->key.get(), {.common_name = name}, 1);
    X509* own = material_->certificate.get();
    X509_set_issuer_name(own, X509_get_subject_name(own));
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
    extend(own, own, NID_key_usage, "critical,keyCertSign");
    need(X509_sign(own, material_->key.get(), EVP_sha256()) > 0, "sign the authority");
}

Authority::~Authority() = default;

Authority::Pem Authority::make(const std::string& common_name, const std::string& dns_name) const {
    const std::string dns = dns_name.empty() ? "" : ",DNS:" + dns_name;
    return make({.common_name = common_name, .names = "IP:127.0.0.1" + dns});
}

Authority::Pem Authority::make(const Spec& spec) const {
    const Key key = make_key();
    const auto certificate = start_certificate(key.get(), spec, 2);
    X509* issuer = material_->certificate.get();
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
    extend(certificate.get(), issuer, NID_subject_alt_name, spec.names);
    need(X509_sign(certificate.get(), material_->key.get(), EVP_sha256()) > 0, "sign");
    return {
        .ca = pem_of(issuer), .certificate = pem_of(certificate.get()), .key = pem_of(key.get())};
}

void Authority::issue(const std::filesystem::path& folder, const std::string& common_name,
                      const std::string& dns_name) const {
    std::filesystem::create_directories(folder);
    const auto pem = make(common_name, dns_name);
    std::ofstream{folder / "ca.pem"} << pem.ca;
    std::ofstream{folder / "certificate.pem"} << pem.certificate;
    std::ofstream{folder / "key.pem"} << pem.key;
}

}  // namespace scout::test
