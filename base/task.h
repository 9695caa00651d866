// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace scout {

namespace asio = boost::asio;

/// A coroutine of the loop thread. Parameters by value; see docs/decisions/0004-coroutines.md.
template <class T = void>
using Task = asio::awaitable<T>;

/// Completion token that yields a tuple with the error code instead of throwing it.
inline constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

}  // namespace scout
