// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "documents/profile_document.h"

namespace scout::documents {
namespace {

TEST(HostModelCpuTest, TakesTheHostModelOutOfTheDocument) {
    const auto cpu = host_model_cpu(
        "<domainCapabilities><cpu>"
        "<mode name='custom' supported='yes'><model>qemu64</model></mode>"
        "<mode name='host-model' supported='yes'>"
        "<model fallback='forbid'>EPYC</model><vendor>AMD</vendor>"
        "<feature policy='require' name='x2apic'/></mode></cpu></domainCapabilities>");

    ASSERT_TRUE(cpu) << cpu.error().message;
    EXPECT_EQ(*cpu, R"(<cpu><model fallback="forbid">EPYC</model><vendor>AMD</vendor>)"
                    R"(<feature policy="require" name="x2apic"/></cpu>)");
}

TEST(HostModelCpuTest, SaysSoWhereThereIsNone) {
    EXPECT_EQ(host_model_cpu("<domainCapabilities><cpu><mode name='host-model' supported='no'/>"
                             "</cpu></domainCapabilities>")
                  .error()
                  .code,
              Errc::not_found);
    EXPECT_EQ(host_model_cpu("<capabilities/>").error().code, Errc::not_found);
}

TEST(HostModelCpuTest, RefusesWhatIsNoDocument) {
    EXPECT_EQ(host_model_cpu("<domainCapabilities><cpu>").error().code, Errc::invalid);
    EXPECT_EQ(host_model_cpu("<!DOCTYPE a><domainCapabilities/>").error().code, Errc::invalid);
    EXPECT_EQ(host_model_cpu("<domainCapabilities><cpu><mode name='host-model' supported='1'/>"
                             "</cpu></domainCapabilities>")
                  .error()
                  .code,
              Errc::invalid);
    EXPECT_EQ(host_model_cpu(std::string(document_limit + 1, ' ')).error().code, Errc::invalid);
}

}  // namespace
}  // namespace scout::documents
