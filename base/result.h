// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace scout {

/// Chosen by what the caller does next; detail belongs in the message.
enum class Errc : std::uint8_t {
    not_found,    ///< the named thing does not exist
    unavailable,  ///< try again later: a peer or a library does not answer
    timed_out,    ///< the deadline passed; the work may still be going on
    cancelled,    ///< the caller or a shutdown gave up
    invalid,      ///< the input is wrong and will stay wrong
    refused,      ///< understood, and not allowed
    internal,     ///< a broken expectation of ours
};

[[nodiscard]] std::string_view to_string(Errc code) noexcept;

/// What went wrong, for a person: expected, found, what to do. Each layer adds its step once.
struct Error {
    Errc code = Errc::internal;
    std::string message;

    /// The same error with the step in front: "read config: line 3: unknown key 'foo'".
    [[nodiscard]] Error within(std::string_view step) &&;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Shorthand for the error branch of a Result.
[[nodiscard]] tl::unexpected<Error> fail(Errc code, std::string message);
[[nodiscard]] tl::unexpected<Error> fail(Error error);

}  // namespace scout
