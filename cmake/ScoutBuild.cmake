# SPDX-License-Identifier: Apache-2.0
# How every target of the tree is built: flags, where programs land, the three declaring functions.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SCOUT_CCACHE ccache)
if(SCOUT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${SCOUT_CCACHE}")
endif()

# Designated initialisers leave out what has a default; GCC calls that missing.
add_library(scout_flags INTERFACE)
# gRPC brings -pthread to some targets: precompiled headers want the same for all.
target_compile_options(scout_flags INTERFACE
    -pthread -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wold-style-cast -Wformat=2 -Wno-missing-field-initializers
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>
    # GCC 12 puts Asio's operator new of coroutine frames into the caller and then finds that its
    # operator delete, a call, does not fit.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
    # GCC 12's std::stable_sort names a function that its own headers mark deprecated.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
target_compile_definitions(scout_flags INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_include_directories(scout_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")

# scout_library(name SOURCES … [PUBLIC …] [PRIVATE …]): one folder, one library, target scout::name.
function(scout_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    add_library(scout_${name} STATIC ${arg_SOURCES})
    add_library(scout::${name} ALIAS scout_${name})
    target_include_directories(scout_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
    target_link_libraries(scout_${name} PUBLIC ${arg_PUBLIC} PRIVATE scout_flags ${arg_PRIVATE})
    scout_use_headers(scout_${name} scout_product_headers)
endfunction()

# scout_program(name SOURCES … LINK …): a program in build/<preset>/bin.
function(scout_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE scout_flags ${arg_LINK})
endfunction()

# scout_test(name SOURCES … LINK … [LABEL label] [WHOLE]): one GoogleTest program, one ctest entry for each test in it.
# WHOLE: one entry for all of it, where its tests share something that takes long to start; it is skipped if all of
# that is missing ("no bed: …"). Such entries run one after the other, and begin first.
function(scout_test name)
    cmake_parse_arguments(arg "WHOLE" "LABEL" "SOURCES;LINK" ${ARGN})
    add_executable(${name}_test ${arg_SOURCES})
    target_link_libraries(${name}_test PRIVATE scout_flags scout::test_support scout::test_main ${arg_LINK})
    scout_use_headers(${name}_test scout_test_headers)
    set(labels "${arg_LABEL}")
    if(NOT labels)
        set(labels "unit")
    endif()
    if("unit" IN_LIST labels)
        add_dependencies(unit_tests ${name}_test)
    endif()
    if(arg_WHOLE)
        add_test(NAME ${name} COMMAND ${name}_test)
        set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 RESOURCE_LOCK bed COST 200
            SKIP_REGULAR_EXPRESSION "no bed: ")
        return()
    endif()
    gtest_discover_tests(${name}_test
        DISCOVERY_TIMEOUT 60
        PROPERTIES LABELS "${labels}" TIMEOUT 300 SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endfunction()
