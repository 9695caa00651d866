// SPDX-License-Identifier: Apache-2.0
#include "kube/tls_source.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <spdlog/spdlog.h>

#include "base/files.h"
#include "base/logging.h"

namespace scout::kube {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;
namespace ssl = asio::ssl;

constexpr auto look_every = 10s;

Status read_pem(const PemSource& source, std::string& into) {
    if (source.file.empty()) {
        into = source.text;
        return {};
    }
    auto text = read_file(source.file);
    if (!text) {
        return fail(std::move(text.error()));
    }
    if (text->empty()) {
        return fail(Errc::invalid,
                    log_value(source.file.string()) + ": expected PEM text, found an empty file");
    }
    into = *std::move(text);
    return {};
}

std::string named(std::string_view part, const PemSource& source) {
    return std::string{part} + (source.file.empty() ? "" : " " + log_value(source.file.string()));
}

tl::unexpected<Error> not_pem(const std::string& what, const error_code& error) {
    return fail(Errc::invalid,
                what + ": expected PEM text that OpenSSL takes, found: " + error.message());
}

/// What holds for each context.
void configure(ssl::context& context) {
    SSL_CTX* const handle = context.native_handle();
    SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
    // 33 KiB less for each connection that waits.
    SSL_CTX_set_mode(handle, SSL_MODE_RELEASE_BUFFERS);
    // As Go does: what is in the authority's file is trusted, an intermediate too.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(handle), X509_V_FLAG_PARTIAL_CHAIN);
}

}  // namespace

TlsSource::TlsSource(const ClusterAccess& access, const Clock& clock)
    : authority_(access.authority),
      certificate_(access.client_certificate),
      key_(access.client_key),
      insecure_(access.insecure),
      clock_(clock) {}

Result<TlsContext> TlsSource::current(const std::shared_ptr<const ClientCertificate>& plugin) {
    const auto now = clock_.steady();
    if (looked_at_ && now - *looked_at_ < look_every && plugin == plugin_) {
        return current_;
    }
    auto done = refresh(plugin);
    if (done) {
        complained_ = false;
    } else if (!current_.context) {
        return fail(std::move(done.error()));
    } else if (!std::exchange(complained_, true)) {
        spdlog::warn("TLS files are unusable, the last ones stay in force error={}",
                     log_value(done.error().message));
    }
    looked_at_ = now;
    plugin_ = plugin;
    return current_;
}

Status TlsSource::refresh(const std::shared_ptr<const ClientCertificate>& plugin) {
    auto material = read(plugin);
    if (!material) {
        return fail(std::move(material.error()));
    }
    if (current_.context && *material == material_) {
        return {};
    }
    auto context = make(*material);
    if (!context) {
        return fail(std::move(context.error()));
    }
    material_ = *std::move(material);
    current_ = {.context = *std::move(context), .version = current_.version + 1};
    return {};
}

Result<TlsSource::Material> TlsSource::read(
    const std::shared_ptr<const ClientCertificate>& plugin) const {
    Material material;
    auto done = read_pem(authority_, material.authority);
    if (plugin) {
        material.certificate = plugin->certificate;
        material.key = plugin->key;
    } else {
        done = done.and_then(
                       [this, &material] { return read_pem(certificate_, material.certificate); })
                   .and_then([this, &material] { return read_pem(key_, material.key); });
    }
    if (!done) {
        return fail(std::move(done.error()));
    }
    return material;
}

Result<std::shared_ptr<ssl::context>> TlsSource::make(const Material& material) const {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    configure(*context);
    error_code error;
    // A key with a passphrase is refused: OpenSSL would ask for it on the terminal.
    const auto no_passphrase = [](std::size_t, ssl::context::password_purpose) {
        return std::string{};
    };
    context->set_password_callback(no_passphrase, error);
    context->set_verify_mode(insecure_ ? ssl::verify_none : ssl::verify_peer, error);
    if (material.authority.empty()) {
        context->set_default_verify_paths(error);
    } else {
        context->add_certificate_authority(asio::buffer(material.authority), error);
    }
    if (error) {
        return not_pem(named("certificate authority", authority_), error);
    }
    if (material.certificate.empty()) {
        return context;
    }
    context->use_certificate_chain(asio::buffer(material.certificate), error);
    if (error) {
        return not_pem(named("client certificate", certificate_), error);
    }
    context->use_private_key(asio::buffer(material.key), ssl::context::pem, error);
    // It also finds out whether key and certificate belong together.
    if (error) {
        return not_pem(named("client key", key_), error);
    }
    return context;
}

}  // namespace scout::kube
