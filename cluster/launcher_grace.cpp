// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_grace.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/logging.h"
#include "migration/eviction.h"

namespace scout::cluster {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

/// What KubeVirt leaves to the launcher after its guest was killed.
constexpr seconds after_the_guest = migration::pod_patience - migration::launcher_patience;
constexpr std::size_t shown = 32;

std::optional<seconds> seconds_of(std::string_view text) {
    unsigned number = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    const bool good =
        error == std::errc{} && at == end && number >= 1 && number <= most_grace_seconds;
    return good ? std::optional{seconds{number}} : std::nullopt;
}

/// "replace" of what is there: in an array "add" would put one more before it.
json::value change(std::string_view operation, std::string_view path, json::value value) {
    return json::object{{"op", operation}, {"path", path}, {"value", std::move(value)}};
}

std::string word_of(const kube::LauncherGrace& grace, seconds time) {
    const auto number = std::to_string(time.count());
    return grace.joined ? std::string{kube::launcher_grace_flag} + "=" + number : number;
}

}  // namespace

std::optional<seconds> wanted_grace(std::string_view own, std::string_view of_namespace) {
    return seconds_of(own.empty() ? of_namespace : own);
}

GraceRaise raise_launcher_grace(const kube::NewPod& pod, std::string_view wanted_by_namespace) {
    GraceRaise raise;
    const bool own = !pod.wanted_grace.empty();
    const auto text = own ? std::string_view{pod.wanted_grace} : wanted_by_namespace;
    if (text.empty() || pod.role != "virt-launcher") {
        return raise;
    }
    const auto wanted = seconds_of(text);
    if (!wanted) {
        raise.warnings.push_back("the launcher keeps its grace: " + std::string{kube::grace_key} +
                                 " of its " + (own ? "VM" : "namespace") + ": expected 1 to " +
                                 std::to_string(most_grace_seconds) + " seconds, found " +
                                 log_value(text.substr(0, shown)));
        return raise;
    }
    if (!pod.launcher_grace) {
        raise.warnings.push_back(
            "the launcher keeps its grace: expected " + std::string{kube::launcher_grace_flag} +
            " with a number in the command of its container compute, found none");
        return raise;
    }
    const auto& grace = *pod.launcher_grace;
    const auto time = std::max(*wanted, grace.time);
    json::array patch;
    if (time > grace.time) {
        patch.push_back(change("replace",
                               "/spec/containers/" + std::to_string(grace.container) + "/command/" +
                                   std::to_string(grace.word),
                               json::string(word_of(grace, time))));
    }
    const auto whole = std::max(pod.grace.value_or(seconds{0}), time + after_the_guest);
    if (whole != pod.grace) {
        patch.push_back(change("add", "/spec/terminationGracePeriodSeconds", whole.count()));
    }
    if (!patch.empty()) {
        raise.patch = json::serialize(patch);
    }
    return raise;
}

}  // namespace scout::cluster
