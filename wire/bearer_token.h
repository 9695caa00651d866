// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace grpc {
class ServerContextBase;
}

/// Tokens by which a client tells who it is: "authorization: Bearer …" among a call's metadata.
/// No message of ours quotes one.
namespace scout::wire {

/// Longest token that is sent or taken. gRPC takes 8 KiB of metadata in all; tokens of service
/// accounts have 1 to 2 KiB.
inline constexpr std::size_t token_limit = std::size_t{6} << 10U;

/// The token in a file, without the white space behind it. Blocking. Errors: of read_file();
/// invalid: no token (RFC 6750 §2.1), or one over the limit.
[[nodiscard]] Result<std::string> read_token(const std::filesystem::path& path);

/// The token that came with a call; Errc::refused with what to do if there is none, more than one,
/// or one that is no token. Any thread.
[[nodiscard]] Result<std::string> token_of(const grpc::ServerContextBase& context);

}  // namespace scout::wire
