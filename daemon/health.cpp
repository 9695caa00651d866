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

void Health::note(std::string_view subject, std::string text) {
    notes_[std::string{subject}] = std::move(text);
}

bool Health::ready() const noexcept {
    return std::all_of(conditions_.begin(), conditions_.end(),
                       [](const auto& condition) { return condition.second.empty(); });
}

std::string Health::text() const {
    std::string lines;
    const auto append = [&lines](const std::string& subject, const std::string& text) {
        if (!text.empty()) {
            lines.append(subject).append(": ").append(text).append("\n");
        }
    };
    for (const auto& [condition, reason] : conditions_) {
        append(condition, reason);
    }
    lines = lines.empty() ? "ready\n" : lines;
    for (const auto& [subject, text] : notes_) {
        append(subject, text);
    }
    return lines;
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
