// SPDX-License-Identifier: Apache-2.0
#include "daemon/health.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "daemon/http_server.h"

namespace scout::daemon {
namespace {

constexpr unsigned service_unavailable = 503;

using Collectables = std::vector<std::shared_ptr<prometheus::Collectable>>;

HttpAnswer metrics_answer(const Collectables& metrics) {
    std::vector<prometheus::MetricFamily> all;
    for (const auto& collectable : metrics) {
        auto families = collectable->Collect();
        std::move(families.begin(), families.end(), std::back_inserter(all));
    }
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = prometheus::TextSerializer{}.Serialize(all)};
}

}  // namespace

void Health::set(std::string_view condition, std::string reason) {
    conditions_[std::string{condition}] = std::move(reason);
}

bool Health::ready() const noexcept {
    return std::all_of(conditions_.begin(), conditions_.end(),
                       [](const auto& condition) { return condition.second.empty(); });
}

std::string Health::text() const {
    std::string lines;
    for (const auto& [condition, reason] : conditions_) {
        if (!reason.empty()) {
            lines.append(condition).append(": ").append(reason).append("\n");
        }
    }
    return lines.empty() ? "ready\n" : lines;
}

void serve_health(HttpServer& server, const Health& health, Collectables metrics) {
    server.route("/healthz", [] { return HttpAnswer{.body = "ok\n"}; });
    server.route("/readyz", [&health] {
        return HttpAnswer{.status = health.ready() ? 200 : service_unavailable,
                          .body = health.text()};
    });
    server.route("/metrics", [all = std::move(metrics)] { return metrics_answer(all); });
}

}  // namespace scout::daemon
