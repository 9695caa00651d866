// SPDX-License-Identifier: Apache-2.0
#include "aggregator/front_proxy.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <boost/beast/core/string.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <spdlog/spdlog.h>

#include "base/logging.h"
#include "base/percent.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using boost::beast::iequals;

constexpr const char* map_space = "kube-system";
constexpr const char* map_name = "extension-apiserver-authentication";
constexpr const char* place = "ConfigMap kube-system/extension-apiserver-authentication";

kube::Reflector::Subject the_map() {
    return {
        .resource = kube::resources::config_maps(),
        .selection = {
            .space = map_space, .labels = {}, .fields = std::string{"metadata.name="} + map_name}};
}

using Data = std::map<std::string, std::string>;

/// A list as JSON in a text; one that is absent is empty.
Result<std::vector<std::string>> list_at(const Data& data, const std::string& key) {
    const auto found = data.find(key);
    std::vector<std::string> texts;
    if (found == data.end() || found->second.empty()) {
        return texts;
    }
    boost::system::error_code error;
    const auto value = json::parse(found->second, error);
    const auto* array = error ? nullptr : value.if_array();
    bool readable = array != nullptr;
    for (std::size_t i = 0; readable && i < array->size(); ++i) {
        const auto* text = (*array)[i].if_string();
        readable = text != nullptr;
        if (readable) {
            texts.emplace_back(text->data(), text->size());
        }
    }
    if (!readable) {
        return fail(Errc::invalid, std::string{place} + ": " + key +
                                       ": expected a JSON array of texts, found " +
                                       log_value(found->second));
    }
    std::erase(texts, std::string{});
    return texts;
}

std::string lower(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    return out;
}

/// The first value of the first header that has one.
std::string first_of(const std::vector<std::string>& names, const daemon::HttpRequest& request) {
    for (const auto& name : names) {
        if (const auto value = request.header(name); !value.empty()) {
            return std::string{value};
        }
    }
    return {};
}

std::vector<std::string> all_of(const std::vector<std::string>& names,
                                const daemon::HttpRequest& request) {
    std::vector<std::string> values;
    for (const auto& name : names) {
        for (const auto& [key, value] : request.headers) {
            if (iequals(key, name) && !value.empty()) {
                values.push_back(value);
            }
        }
    }
    return values;
}

std::map<std::string, std::vector<std::string>> extra_of(const std::vector<std::string>& prefixes,
                                                         const daemon::HttpRequest& request) {
    std::map<std::string, std::vector<std::string>> extra;
    for (const auto& prefix : prefixes) {
        for (const auto& [key, value] : request.headers) {
            if (key.size() > prefix.size() && iequals(key.substr(0, prefix.size()), prefix)) {
                extra[percent_decode(lower(key.substr(prefix.size())))].push_back(value);
            }
        }
    }
    return extra;
}

bool is_allowed(const FrontProxySettings& settings, const std::string& name) {
    const auto& names = settings.allowed_names;
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<FrontProxySettings> front_proxy_settings(const Data& data) {
    FrontProxySettings settings;
    const std::vector<std::pair<const char*, std::vector<std::string>*>> lists{
        {"requestheader-allowed-names", &settings.allowed_names},
        {"requestheader-username-headers", &settings.user_headers},
        {"requestheader-uid-headers", &settings.uid_headers},
        {"requestheader-group-headers", &settings.group_headers},
        {"requestheader-extra-headers-prefix", &settings.extra_prefixes}};
    for (const auto& [key, texts] : lists) {
        auto list = list_at(data, key);
        if (!list) {
            return fail(std::move(list.error()));
        }
        *texts = *std::move(list);
    }
    if (const auto found = data.find("requestheader-client-ca-file"); found != data.end()) {
        settings.authorities = found->second;
    }
    if (settings.authorities.empty() || settings.user_headers.empty()) {
        return fail(Errc::unavailable,
                    std::string{place} + ": expected " +
                        (settings.authorities.empty() ? "requestheader-client-ca-file"
                                                      : "requestheader-username-headers") +
                        ", found none: the API server needs its aggregation layer, see its flags "
                        "--requestheader-*");
    }
    return settings;
}

Result<kube::Subject> subject_of(const FrontProxySettings& settings,
                                 const daemon::HttpRequest& request) {
    if (request.client.empty()) {
        return fail(Errc::refused,
                    "expected a certificate of the API server's front proxy, found none that is "
                    "valid: ask through the API server");
    }
    if (!is_allowed(settings, request.client)) {
        return fail(Errc::refused,
                    "expected a certificate of the API server's front proxy, found "
                    "one of " +
                        log_value(request.client) +
                        ": requestheader-allowed-names has other names");
    }
    kube::Subject subject;
    subject.user = first_of(settings.user_headers, request);
    if (subject.user.empty()) {
        return fail(Errc::refused, "expected a user in the header " +
                                       settings.user_headers.front() + ", found none");
    }
    subject.uid = first_of(settings.uid_headers, request);
    subject.groups = all_of(settings.group_headers, request);
    subject.extra = extra_of(settings.extra_prefixes, request);
    return subject;
}

FrontProxy::FrontProxy(kube::Transport& transport, const Clock& clock,
                       kube::ReflectorSettings settings)
    : maps_(transport, clock, the_map(), &kube::decode_config_map, settings),
      settings_(fail(Errc::unavailable, std::string{place} + " has not been read yet")) {
    maps_.on_change([this](const auto& /*change*/) { take_change(); });
    maps_.on_synced([this] { take_change(); });
}

Result<FrontProxySettings> FrontProxy::read() const {
    const auto map = maps_.find(map_space, map_name);
    if (map == nullptr) {
        return fail(Errc::unavailable,
                    std::string{"expected "} + place + ", found none: the API server makes it");
    }
    return front_proxy_settings(map->data);
}

void FrontProxy::take_change() {
    const auto before = settings_ ? settings_->authorities : std::string{};
    settings_ = read();
    if (!settings_) {
        spdlog::warn("users cannot be told, their questions are refused reason={}",
                     log_value(settings_.error().message));
    }
    const auto now = settings_ ? settings_->authorities : std::string{};
    if (now != before && handler_) {
        handler_(now);
    }
}

Result<kube::Subject> FrontProxy::user_of(const daemon::HttpRequest& request) const {
    if (!settings_) {
        const auto& trouble = maps_.reflector().trouble();
        auto error = settings_.error();
        error.message += trouble.empty() || maps_.synced() ? "" : " (" + trouble + ")";
        return fail(std::move(error));
    }
    return subject_of(*settings_, request);
}

}  // namespace scout::aggregator
