// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/http_server.h"
#include "kube/informer.h"
#include "kube/objects/config_map.h"
#include "kube/reviews.h"

namespace scout::aggregator {

/// How API servers pass on whose request it is that they forward (their flags --requestheader-*).
struct FrontProxySettings {
    std::string authorities;                 ///< of the certificates that they show, in PEM form
    std::vector<std::string> allowed_names;  ///< in those certificates; empty: any
    std::vector<std::string> user_headers;   ///< the first that is there counts
    std::vector<std::string> uid_headers;
    std::vector<std::string> group_headers;  ///< all that are there
    std::vector<std::string> extra_prefixes;

    friend bool operator==(const FrontProxySettings&, const FrontProxySettings&) = default;
};

/// Of the data of the ConfigMap that API servers publish. Errc::unavailable names what is missing,
/// Errc::invalid what cannot be read.
[[nodiscard]] Result<FrontProxySettings> front_proxy_settings(
    const std::map<std::string, std::string>& data);

/// Whose request it is, by the rules of k8s.io/apiserver (requestheader). Headers count only beside
/// a certificate of a front proxy; Errc::refused says what is missing.
[[nodiscard]] Result<kube::Subject> subject_of(const FrontProxySettings& settings,
                                               const daemon::HttpRequest& request);

/// The settings that the cluster's API servers work by, followed. Without them nobody is believed.
/// Loop thread; transport and clock must outlive it.
class FrontProxy {
public:
    FrontProxy(kube::Transport& transport, const Clock& clock, kube::ReflectorSettings settings);

    /// Called with each change of the authorities; empty: there are none. Before run().
    void on_authorities(std::function<void(const std::string&)> handler) {
        handler_ = std::move(handler);
    }
    /// Goes on until it is cancelled.
    [[nodiscard]] Task<> run() { return maps_.run(); }

    /// As subject_of(); unavailable and invalid as front_proxy_settings().
    [[nodiscard]] Result<kube::Subject> user_of(const daemon::HttpRequest& request) const;

private:
    [[nodiscard]] Result<FrontProxySettings> read() const;
    void take_change();

    kube::Informer<kube::ConfigMap> maps_;
    Result<FrontProxySettings> settings_;
    std::function<void(const std::string&)> handler_;
};

}  // namespace scout::aggregator
