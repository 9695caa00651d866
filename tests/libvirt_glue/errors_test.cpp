// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/errors.h"

#include <gtest/gtest.h>

#include "libvirt_glue/handles.h"

namespace scout::libvirt_glue {
namespace {

struct MappedError {
    int number;
    Errc code;
};

class ErrorMapTest : public ::testing::TestWithParam<MappedError> {};

TEST_P(ErrorMapTest, ChoosesTheCodeByWhatTheCallerDoesNext) {
    EXPECT_EQ(errc_for(GetParam().number), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(EachKind, ErrorMapTest,
                         ::testing::Values(MappedError{VIR_ERR_NO_DOMAIN, Errc::not_found},
                                           MappedError{VIR_ERR_NO_CONNECT, Errc::unavailable},
                                           MappedError{VIR_ERR_SYSTEM_ERROR, Errc::unavailable},
                                           MappedError{VIR_ERR_RPC, Errc::unavailable},
                                           MappedError{VIR_ERR_INTERNAL_ERROR, Errc::unavailable},
                                           MappedError{VIR_ERR_OPERATION_TIMEOUT, Errc::timed_out},
                                           MappedError{VIR_ERR_OPERATION_ABORTED, Errc::cancelled},
                                           MappedError{VIR_ERR_INVALID_ARG, Errc::invalid},
                                           MappedError{VIR_ERR_NO_SUPPORT, Errc::invalid},
                                           MappedError{VIR_ERR_XML_ERROR, Errc::invalid},
                                           MappedError{VIR_ERR_ACCESS_DENIED, Errc::refused},
                                           MappedError{VIR_ERR_AUTH_FAILED, Errc::refused},
                                           MappedError{VIR_ERR_OK, Errc::internal},
                                           MappedError{99'999, Errc::internal}));

TEST(LastErrorTest, SaysTheStepAndWhatLibvirtSaid) {
    ASSERT_TRUE(prepare_library());
    const ConnectHandle connection(libvirt().virConnectOpen("nosuch:///system"));
    const auto error = last_error("open nosuch:///system");

    EXPECT_EQ(connection, nullptr);
    EXPECT_EQ(error.code, Errc::unavailable);
    EXPECT_TRUE(error.message.starts_with("open nosuch:///system: ")) << error.message;
}

TEST(ErrorsTest, TellsAnAnswerFromAFaultOfTheMoment) {
    for (const int number : {VIR_ERR_NO_SUPPORT, VIR_ERR_INVALID_ARG, VIR_ERR_CONFIG_UNSUPPORTED,
                             VIR_ERR_OPERATION_UNSUPPORTED, VIR_ERR_ARGUMENT_UNSUPPORTED}) {
        EXPECT_TRUE(says_not_supported({.code = errc_for(number), .message = {}})) << number;
    }
    for (const int number : {VIR_ERR_INTERNAL_ERROR, VIR_ERR_SYSTEM_ERROR, VIR_ERR_RPC,
                             VIR_ERR_NO_MEMORY, VIR_ERR_OPERATION_TIMEOUT, VIR_ERR_ACCESS_DENIED}) {
        EXPECT_FALSE(says_not_supported({.code = errc_for(number), .message = {}})) << number;
    }
}

}  // namespace
}  // namespace scout::libvirt_glue
