// SPDX-License-Identifier: Apache-2.0
#include "kube/url.h"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address_v6.hpp>

namespace scout::kube {
namespace {

constexpr std::size_t longest_url = 2048;

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_lower(lower(c)) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    });
}

bool is_v6(std::string_view text) {
    boost::system::error_code error;
    boost::asio::ip::make_address_v6(std::string{text}, error);
    // An interface behind '%' means nothing to a certificate.
    return !error && text.find('%') == std::string_view::npos;
}

/// ":6443" or nothing.
bool read_port(std::string_view text, std::uint16_t& port) {
    if (text.empty()) {
        return true;
    }
    const char* const last = text.data() + text.size();
    const auto [end, wrong] = std::from_chars(text.data() + 1, last, port);
    return text.front() == ':' && wrong == std::errc{} && end == last && port != 0;
}

bool read_host(std::string_view text, Url& url) {
    const bool bracketed = text.starts_with('[');
    const auto end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
    if (end == std::string_view::npos) {
        return false;
    }
    url.host = text.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end);
    return (bracketed ? is_v6(url.host) : is_name(url.host)) &&
           read_port(text.substr(bracketed ? end + 1 : end), url.port);
}

}  // namespace

std::optional<Url> parse_url(std::string_view text) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c < 0x7f && c != '?' && c != '#';
    });
    const auto colon = text.find("://");
    if (!plain || text.size() > longest_url || colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    Url url{.scheme = std::string{text.substr(0, colon)}};
    std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(), lower);
    text.remove_prefix(colon + 3);
    const auto slash = std::min(text.find('/'), text.size());
    url.path = text.substr(slash);
    auto authority = text.substr(0, slash);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        url.user_info = authority.substr(0, at);
        authority.remove_prefix(at + 1);
    }
    return read_host(authority, url) ? std::optional{std::move(url)} : std::nullopt;
}

}  // namespace scout::kube
