// SPDX-License-Identifier: Apache-2.0
#include "kube/service_account_token.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/base64.h"
#include "base/logging.h"
#include "kube/json_lookup.h"

namespace scout::kube {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// Real ones have 1 to 2 KiB.
constexpr std::size_t longest_text = std::size_t{16} << 10U;
constexpr std::size_t most_audiences = 16;
constexpr auto clock_difference = 30s;
constexpr std::int64_t end_of_9999_s = 253'402'300'799;

tl::unexpected<Error> refused(std::string text) {
    return fail(Errc::refused, std::move(text));
}

/// One of the two JSON parts. Boost.JSON refuses more than 32 levels.
Result<json::object> decode(std::string_view part, const char* name) {
    const auto text = base64url_decode(part);
    boost::system::error_code error;
    auto document = text ? json::parse(*text, error) : json::value{};
    auto* object = error ? nullptr : document.if_object();
    if (object == nullptr) {
        return refused(std::string{"expected a JSON object in base64url as its "} + name +
                       ", found something else");
    }
    return std::move(*object);
}

struct Parts {
    std::string_view header;
    std::string_view claims;
    std::string_view signature;
};

std::optional<Parts> split(std::string_view text) {
    const auto first = text.find('.');
    const auto second = first == std::string_view::npos ? first : text.find('.', first + 1);
    if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return Parts{.header = text.substr(0, first),
                 .claims = text.substr(first + 1, second - first - 1),
                 .signature = text.substr(second + 1)};
}

Status read_header(const json::object& header, ServiceAccountToken& token) {
    const auto algorithm = text_at(header, "alg");
    if (algorithm != "RS256" && algorithm != "ES256") {
        return refused("expected it signed by RS256 or ES256, found " + log_value(algorithm));
    }
    token.kind = algorithm == "RS256" ? SignatureKind::rs256 : SignatureKind::es256;
    token.key_id = text_at(header, "kid");
    if (token.key_id.empty()) {
        return refused("expected the id of the key that signed it (kid), found none");
    }
    if (header.contains("crit")) {
        return refused("expected no extensions of its form (crit), found some");
    }
    return {};
}

/// Seconds since 1970, as RFC 7519 §2 has times; Kubernetes writes whole ones.
Result<WallTime> time_at(const json::object& claims, const char* name) {
    const auto* value = claims.if_contains(name);
    boost::system::error_code error;
    const auto seconds = value == nullptr ? -1 : value->to_number<std::int64_t>(error);
    if (error || seconds < 0 || seconds > end_of_9999_s) {
        return refused(std::string{"expected a time as "} + name + ", found " +
                       (value == nullptr ? "none" : "something else"));
    }
    return WallTime{std::chrono::seconds{seconds}};
}

Status read_times(const json::object& claims, TokenClaims& out) {
    auto expires = time_at(claims, "exp");
    if (!expires) {
        return fail(std::move(expires.error()));
    }
    out.expires = *expires;
    if (claims.contains("nbf")) {
        auto not_before = time_at(claims, "nbf");
        if (!not_before) {
            return fail(std::move(not_before.error()));
        }
        out.not_before = *not_before;
    }
    return {};
}

std::vector<std::string> audiences_of(const json::object& claims) {
    std::vector<std::string> audiences;
    if (const auto* list = array_at(&claims, "aud")) {
        for (std::size_t i = 0; i < std::min(list->size(), most_audiences); ++i) {
            audiences.push_back(text_in((*list)[i]));
        }
    } else if (auto one = text_at(claims, "aud"); !one.empty()) {
        audiences.push_back(std::move(one));
    }
    return audiences;
}

std::string name_of(const json::object* bound, const char* what) {
    const auto* object = object_at(bound, what);
    return object == nullptr ? std::string{} : text_at(*object, "name");
}

}  // namespace

Result<ServiceAccountToken> parse_token(std::string_view text) {
    if (text.size() > longest_text) {
        return refused("expected at most " + std::to_string(longest_text) + " bytes, found " +
                       std::to_string(text.size()));
    }
    const auto parts = split(text);
    if (!parts) {
        return refused(
            "expected a service account's token, three parts with dots between them, found "
            "something else");
    }
    ServiceAccountToken token;
    auto header = decode(parts->header, "header");
    if (!header) {
        return fail(std::move(header.error()));
    }
    if (auto read = read_header(*header, token); !read) {
        return fail(std::move(read.error()));
    }
    auto claims = decode(parts->claims, "claims");
    if (!claims) {
        return fail(std::move(claims.error()));
    }
    if (auto read = read_times(*claims, token.claims); !read) {
        return fail(std::move(read.error()));
    }
    token.claims.audiences = audiences_of(*claims);
    const auto* bound = object_at(&*claims, "kubernetes.io");
    token.claims.space = bound == nullptr ? std::string{} : text_at(*bound, "namespace");
    token.claims.account = name_of(bound, "serviceaccount");
    token.claims.pod = name_of(bound, "pod");
    token.claims.node = name_of(bound, "node");
    auto signature = base64url_decode(parts->signature);
    if (!signature) {
        return refused("expected a signature in base64url, found something else");
    }
    token.signature = std::move(*signature);
    token.signed_text = text.substr(0, text.size() - parts->signature.size() - 1);
    return token;
}

Status check_claims(const TokenClaims& claims, std::string_view audience, WallTime now) {
    const auto& audiences = claims.audiences;
    if (std::find(audiences.begin(), audiences.end(), audience) == audiences.end()) {
        std::string found;
        for (const auto& one : audiences) {
            found += (found.empty() ? "" : ", ") + one;
        }
        return refused("expected one for audience " + std::string{audience} + ", found one for " +
                       (found.empty() ? std::string{"none"} : log_value(found)) +
                       ": project a token with that audience into the pod");
    }
    if (now >= claims.expires + clock_difference) {
        return refused("it was in force until " + rfc3339(claims.expires) +
                       ", and it is past that: the file must be the one that the kubelet renews, "
                       "and clocks must agree");
    }
    if (now + clock_difference < claims.not_before) {
        return refused("it is in force from " + rfc3339(claims.not_before) +
                       " on, and it is earlier: clocks must agree");
    }
    return {};
}

}  // namespace scout::kube
