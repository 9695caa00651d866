// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "kube/access.h"
#include "kube/connection_pool.h"
#include "kube/credentials.h"
#include "kube/deadline.h"
#include "kube/line_stream.h"
#include "kube/tls_source.h"
#include "kube/transport.h"

namespace scout::kube {

struct HttpLimits {
    std::size_t head_bytes = std::size_t{64} << 10U;
    /// Of one answer. A page of 500 nodes, 55 KiB each, has 27 MiB.
    std::size_t body_bytes = std::size_t{128} << 20U;
    /// Of one line of a stream; etcd takes no object above 1.5 MiB, aggregated APIs may.
    std::size_t line_bytes = std::size_t{16} << 20U;
    std::size_t requests = 8;                                   ///< under way at once; others wait
    std::size_t streams = 64;                                   ///< one more is refused
    std::chrono::milliseconds idle = std::chrono::seconds{60};  ///< kept connections; 0: none
};

/// The Transport over HTTP/1.1 and TLS to the server of one access.
///
/// Connections are kept and used again. A GET whose kept connection the server had closed is sent
/// once more on a new one; a request that was answered 401 is sent once more if the credentials or
/// certificates are others by then. Beyond that nothing is repeated. All files of the access are
/// read again when they change. Loop thread only; the clock must outlive it, and it must outlive
/// its calls (not its streams). Kept connections give the loop work until they have been idle for
/// long: close_idle() before a loop is to run out.
class HttpTransport final : public Transport {
public:
    HttpTransport(asio::any_io_executor loop, const ClusterAccess& access, const Clock& clock,
                  HttpLimits limits = {});
    ~HttpTransport() override;
    HttpTransport(const HttpTransport&) = delete;
    HttpTransport& operator=(const HttpTransport&) = delete;
    HttpTransport(HttpTransport&&) = delete;
    HttpTransport& operator=(HttpTransport&&) = delete;

    [[nodiscard]] Task<Result<HttpResponse>> send(HttpRequest request,
                                                  std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::unique_ptr<HttpStream>>> open(
        HttpRequest request, std::chrono::milliseconds limit) override;

    void close_idle() noexcept { pool_->close_all(); }

    /// Connections made since the start.
    [[nodiscard]] std::uint64_t connected() const noexcept { return connected_; }

private:
    struct Prepared {
        std::string head;  ///< all but Authorization and the empty line
        HttpRequest request;
        HttpAnswer::Limits limits;
    };

    [[nodiscard]] Result<std::shared_ptr<const Prepared>> prepare(HttpRequest request,
                                                                  HttpAnswer::Limits limits) const;
    [[nodiscard]] Task<Result<Exchange>> begin(std::shared_ptr<const Prepared> prepared,
                                               Deadline deadline);
    [[nodiscard]] Task<Result<Exchange>> attempt(std::shared_ptr<const Prepared> prepared,
                                                 Identity identity, Deadline deadline);
    [[nodiscard]] Task<Result<std::unique_ptr<Connection>>> connect(TlsContext tls,
                                                                    Deadline deadline);
    [[nodiscard]] Task<Status> converse(Exchange* exchange, std::string head, std::string_view body,
                                        Deadline deadline) const;
    [[nodiscard]] Task<bool> has_other_identity(Identity refused, std::uint64_t refused_tls);
    [[nodiscard]] Result<TlsContext> tls_for(const Identity& identity);

    Route route_;
    std::string fixed_headers_;
    const Clock& clock_;
    HttpLimits limits_;
    Credentials credentials_;
    TlsSource tls_;
    std::shared_ptr<ConnectionPool> pool_;
    std::shared_ptr<std::size_t> open_streams_ = std::make_shared<std::size_t>(0);
    std::uint64_t connected_ = 0;
};

}  // namespace scout::kube
