// SPDX-License-Identifier: Apache-2.0
#include "wire/bearer_token.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <grpcpp/server_context.h>

#include "base/files.h"

namespace scout::wire {
namespace {

constexpr std::string_view scheme = "Bearer ";
/// A file has a few bytes more than its token.
constexpr std::size_t file_limit = token_limit + 16;

bool is_token_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"-._~+/="}.find(c) != std::string_view::npos;
}

/// What is wrong with it; empty if nothing is.
std::string token_fault(std::string_view token) {
    if (token.empty()) {
        return "expected a token, found nothing";
    }
    if (token.size() > token_limit) {
        return "expected a token of at most " + std::to_string(token_limit) + " bytes, found " +
               std::to_string(token.size());
    }
    if (!std::all_of(token.begin(), token.end(), is_token_character)) {
        return "expected a token, found text with characters that no token has";
    }
    return {};
}

}  // namespace

Result<std::string> read_token(const std::filesystem::path& path) {
    auto token = read_file(path, file_limit);
    if (!token) {
        return token;
    }
    token->erase(token->find_last_not_of(" \t\r\n") + 1);
    if (const auto fault = token_fault(*token); !fault.empty()) {
        return fail(Errc::invalid, path.string() + ": " + fault);
    }
    return token;
}

Result<std::string> token_of(const grpc::ServerContextBase& context) {
    const auto [first, last] = context.client_metadata().equal_range("authorization");
    if (first == last) {
        return fail(Errc::refused,
                    "expected a token that tells who this agent is, found none: set the agent's "
                    "token-file, a projected service-account token with audience virt-scout");
    }
    const std::string_view value{first->second.data(), first->second.size()};
    if (std::next(first) != last || !value.starts_with(scheme)) {
        return fail(Errc::refused,
                    "authorization: expected one value \"Bearer\" and a token, found another");
    }
    const auto token = value.substr(scheme.size());
    if (const auto fault = token_fault(token); !fault.empty()) {
        return fail(Errc::refused, "authorization: " + fault);
    }
    return std::string{token};
}

}  // namespace scout::wire
