// SPDX-License-Identifier: Apache-2.0
#include "daemon/server_tls.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/openssl_handles.h"

namespace scout::daemon {
namespace {

namespace ssl = asio::ssl;
using boost::system::error_code;
using openssl::Bio;
using openssl::Certificate;
using Verification = std::unique_ptr<X509_STORE_CTX, Releaser<X509_STORE_CTX_free>>;

/// Certificates between a client's and an authority's.
constexpr int most_between = 4;
/// RSA of 1024 bits and no SHA-1, as the API server's own check (Go's crypto/tls and crypto/x509).
constexpr int security_level = 1;

/// Something encrypted must not stop a daemon at a prompt.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
    return 0;
}

/// What is shown is judged when somebody asks who it is: authorities change meanwhile.
int take_any(X509_STORE_CTX* /*chain*/, void* /*user*/) {
    return 1;
}

void ask_clients(ssl::context& context) {
    SSL_CTX* const handle = context.native_handle();
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(handle, &take_any, nullptr);
    SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(handle, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(handle, 0);
}

std::string text_of(const ASN1_STRING* text) {
    unsigned char* bytes = nullptr;
    const int size = ASN1_STRING_to_UTF8(&bytes, text);
    if (size < 0) {
        return {};
    }
    std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return copy;
}

std::string common_name(const X509* certificate) {
    const X509_NAME* const name = X509_get_subject_name(certificate);
    const int first = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (first < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, first) >= 0) {
        return {};
    }
    return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, first)));
}

}  // namespace

Result<std::shared_ptr<ServerTls>> make_server_tls(const CertifiedKey& certificate) {
    if (auto fits = check_key(certificate); !fits) {
        return fail(std::move(fits.error()).within("serving certificate"));
    }
    auto tls = std::make_shared<ServerTls>();
    auto& context = tls->context;
    SSL_CTX* const handle = context.native_handle();
    SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
    SSL_CTX_set_options(handle, SSL_OP_NO_RENEGOTIATION);
    // 33 KiB less for each connection that waits.
    SSL_CTX_set_mode(handle, SSL_MODE_RELEASE_BUFFERS);
    ask_clients(context);
    error_code error;
    context.use_certificate_chain(asio::buffer(certificate.chain), error);
    if (!error) {
        context.use_private_key(asio::buffer(certificate.key), ssl::context::pem, error);
    }
    if (error) {
        return fail(
            Errc::invalid,
            "serving certificate: expected a chain in PEM form that OpenSSL takes, found: " +
                error.message());
    }
    return tls;
}

Result<ClientAuthorities> ClientAuthorities::read(std::string_view pem) {
    Store store{X509_STORE_new()};
    X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
    X509_VERIFY_PARAM* const rules = X509_STORE_get0_param(store.get());
    X509_VERIFY_PARAM_set_depth(rules, most_between);
    X509_VERIFY_PARAM_set_auth_level(rules, security_level);
    X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_CLIENT);
    const Bio text{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
    int found = 0;
    while (const Certificate one{PEM_read_bio_X509(text.get(), nullptr, &no_password, nullptr)}) {
        found += X509_STORE_add_cert(store.get(), one.get());
    }
    const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (found == 0 || !ended) {
        return fail(Errc::invalid,
                    "authorities of clients: expected certificates in PEM form, found " +
                        std::string{found == 0 ? "none" : "something that is none"});
    }
    return ClientAuthorities{std::move(store)};
}

std::string ClientAuthorities::client_of(ServerTlsStream& peer) const {
    SSL* const connection = peer.native_handle();
    const Certificate shown{SSL_get1_peer_certificate(connection)};
    if (!shown) {
        return {};
    }
    const Verification check{X509_STORE_CTX_new()};
    const bool known = X509_STORE_CTX_init(check.get(), store_.get(), shown.get(),
                                           SSL_get_peer_cert_chain(connection)) == 1 &&
                       X509_verify_cert(check.get()) == 1;
    ERR_clear_error();
    return known ? common_name(shown.get()) : std::string{};
}

}  // namespace scout::daemon
