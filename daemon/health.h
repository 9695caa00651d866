// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Collectable;
}

namespace scout::daemon {

class HttpServer;

/// What keeps the daemon from being ready, by condition. Loop thread only.
class Health {
public:
    /// An empty reason means that the condition is met.
    void set(std::string_view condition, std::string reason);
    /// What is told beside the conditions and keeps nothing from being ready; empty: nothing.
    void note(std::string_view subject, std::string text);

    [[nodiscard]] bool ready() const noexcept;
    /// "ready", or each unmet condition on a line: "probe: no answer yet"; then the notes.
    [[nodiscard]] std::string text() const;

private:
    using Texts = std::map<std::string, std::string, std::less<>>;

    Texts conditions_;
    Texts notes_;
};

/// Adds /healthz (200 while the loop turns), /readyz (200 or 503 with the reasons) and /metrics
/// (Prometheus text of the collectables). `health` and the collectables outlive the server's stop.
void serve_health(HttpServer& server, const Health& health,
                  std::vector<std::shared_ptr<prometheus::Collectable>> metrics);

}  // namespace scout::daemon
