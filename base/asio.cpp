// SPDX-License-Identifier: Apache-2.0
// Boost.Asio is compiled once, here (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
