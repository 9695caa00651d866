// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <openssl/x509_vfy.h>

#include "base/certificates.h"
#include "base/releaser.h"
#include "base/result.h"
#include "base/task.h"

namespace scout::daemon {

/// A server's end of TLS on a connection that is owned elsewhere.
using ServerTlsStream = asio::ssl::stream<boost::beast::tcp_stream&>;

/// What connections of a TLS server are made with. Peers are asked for a certificate; those that
/// show none, or one that nobody knows, are served all the same. No session is ever resumed: of a
/// resumed one OpenSSL knows the certificate without its chain, and no proof of the key was given.
struct ServerTls {
    asio::ssl::context context{asio::ssl::context::tls_server};
};

/// Errc::invalid for a pair that cannot be read or does not fit together.
[[nodiscard]] Result<std::shared_ptr<ServerTls>> make_server_tls(const CertifiedKey& certificate);

/// Whose certificates tell who a client is.
class ClientAuthorities {
public:
    /// Of certificates in PEM form, also of authorities that others have signed. Errc::invalid if
    /// there is none, or something is no certificate.
    [[nodiscard]] static Result<ClientAuthorities> read(std::string_view pem);

    /// The common name in the peer's certificate, if that leads to one of the authorities, is valid
    /// now and good for clients. Empty otherwise, and for a certificate with several names or none.
    [[nodiscard]] std::string client_of(ServerTlsStream& peer) const;

private:
    using Store = std::unique_ptr<X509_STORE, Releaser<X509_STORE_free>>;

    explicit ClientAuthorities(Store store) noexcept : store_(std::move(store)) {}

    Store store_;
};

}  // namespace scout::daemon
