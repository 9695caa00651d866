// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "kube/access.h"
#include "kube/credentials.h"

namespace scout::kube {

struct TlsContext {
    std::shared_ptr<asio::ssl::context> context;
    std::uint64_t version = 0;  ///< another number: connections made with an earlier one are stale
};

/// The TLS context of one access, made anew when what it is made of changes.
///
/// Files are looked at every 10 s at most, when a request comes. Files that cannot be read or do
/// not fit together, as in the middle of a rotation, leave the last good context in force and are
/// told in the log, once. Loop thread only; the clock must outlive it.
class TlsSource {
public:
    TlsSource(const ClusterAccess& access, const Clock& clock);

    /// `plugin` is the certificate of a credential plugin and wins over the access's own.
    /// Errc::invalid, naming the part, if there never was a good context.
    [[nodiscard]] Result<TlsContext> current(
        const std::shared_ptr<const ClientCertificate>& plugin);

    /// After 401: looks at the files at the next call.
    void look_soon() { looked_at_.reset(); }

private:
    struct Material {
        std::string authority;
        std::string certificate;
        std::string key;

        friend bool operator==(const Material&, const Material&) = default;
    };

    [[nodiscard]] Result<Material> read(
        const std::shared_ptr<const ClientCertificate>& plugin) const;
    [[nodiscard]] Result<std::shared_ptr<asio::ssl::context>> make(const Material& material) const;
    [[nodiscard]] Status refresh(const std::shared_ptr<const ClientCertificate>& plugin);

    PemSource authority_;
    PemSource certificate_;
    PemSource key_;
    bool insecure_;
    const Clock& clock_;
    std::optional<SteadyTime> looked_at_;
    std::shared_ptr<const ClientCertificate> plugin_;
    Material material_;
    TlsContext current_;
    bool complained_ = false;
};

}  // namespace scout::kube
