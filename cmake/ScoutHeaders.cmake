# SPDX-License-Identifier: Apache-2.0
# The precompiled headers of SCOUT_FAST_BUILD.

set(common_headers
    <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional>
    <string> <string_view> <utility> <variant> <vector>
    <boost/asio/awaitable.hpp> <boost/asio/io_context.hpp> <boost/asio/steady_timer.hpp>
    <spdlog/spdlog.h> <tl/expected.hpp>)

# scout_add_headers(target LINK … HEADERS …)
function(scout_add_headers target)
    cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
    add_library(${target} OBJECT "${CMAKE_SOURCE_DIR}/cmake/headers.cpp")
    target_link_libraries(${target} PRIVATE scout_flags scout::base ${arg_LINK})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()

scout_add_headers(scout_headers HEADERS ${common_headers})
if(BUILD_TESTING)
    scout_add_headers(scout_test_headers
        LINK GTest::gmock HEADERS ${common_headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()
