# SPDX-License-Identifier: Apache-2.0
# Headers that most sources read, compiled once for all targets: the standard library's, tl::expected and
# Asio's coroutines; for tests GoogleTest's too. A source includes what it uses all the same: presets dev
# and tidy do without. What it brings: docs/decisions/0017-precompiled-headers.md.

option(SCOUT_PRECOMPILE "compile the headers that most sources read once" OFF)

set(scout_product_headers
    <algorithm> <array> <charconv> <chrono> <cstdint> <deque> <filesystem> <functional> <limits> <map>
    <memory> <optional> <random> <set> <sstream> <string> <string_view> <system_error> <tuple>
    <unordered_map> <utility> <variant> <vector>
    <tl/expected.hpp>
    <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
    <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp> <boost/asio/post.hpp>
    <boost/asio/steady_timer.hpp> <boost/asio/this_coro.hpp> <boost/asio/use_awaitable.hpp>)
set(scout_test_headers ${scout_product_headers} <gtest/gtest.h> <gmock/gmock.h>)

# scout_precompile(SET [LINK …]): makes one of the sets above.
function(scout_precompile set)
    cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/no_source.cpp" CONTENT "")
    add_library(${set} OBJECT "${CMAKE_BINARY_DIR}/no_source.cpp")
    target_link_libraries(${set} PRIVATE scout_flags tl::expected Boost::headers ${arg_LINK})
    target_precompile_headers(${set} PRIVATE ${${set}})
endfunction()

# scout_use_headers(TARGET SET): TARGET reads SET as it was compiled, if it was.
function(scout_use_headers target set)
    if(TARGET ${set})
        target_precompile_headers(${target} REUSE_FROM ${set})
    endif()
endfunction()

if(SCOUT_PRECOMPILE)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "SCOUT_PRECOMPILE is for clang: GCC 12 warns falsely in what was compiled before")
    endif()
    # For ccache: what was compiled in one clone is found in another.
    target_compile_options(scout_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
    scout_precompile(scout_product_headers)
    if(BUILD_TESTING)
        scout_precompile(scout_test_headers LINK GTest::gmock)
    endif()
endif()
