// SPDX-License-Identifier: Apache-2.0
#include "cluster/cpu_profile.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "tests/support/profiles.h"

namespace scout::cluster {
namespace {

using migration::Usable;
using testing::HasSubstr;

Result<CpuProfile> decode(std::string text) {
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    auto object = reader.parse(kube::PaddedText::of(text));
    return object ? decode_cpu_profile(*object) : fail(std::move(object.error()));
}

/// With every member set.
migration::Profile full_profile() {
    auto profile = scout::test::host({.model = "Large",
                                      .require = {"avx", "vmx-ept"},
                                      .disable = {"aes"},
                                      .usable = {"Small"},
                                      .not_usable = {"Other"},
                                      .machines = {"q35", "pc-q35-9.0"}});
    profile.host_model->maxphysaddr =
        migration::MaxPhysAddr{.mode = "passthrough", .bits = 40, .limit = 46};
    profile.models.front().blockers = {"svm"};
    profile.models.front().vendor = "AMD";
    profile.models.push_back({.name = "Unsaid", .usable = {}, .vendor = {}, .blockers = {}});
    profile.models.push_back(
        {.name = "Unsure", .usable = Usable::unknown, .vendor = {}, .blockers = {}});
    profile.supported_listed = true;
    profile.supported = {"avx", "fpu"};
    profile.launch_security = {"sev", "tdx"};
    profile.asked_machine = "pc-q35-9.0";
    profile.max_vcpus = 4096;
    return profile;
}

TEST(CpuProfileTest, AnObjectIsReadBackAsTheSameProfile) {
    auto bare = scout::test::host({});
    bare.origin = migration::ProfileOrigin::bare_cpu;
    auto no_host_model = scout::test::host({});
    no_host_model.host_model.reset();
    auto none_supported = scout::test::host({});
    none_supported.supported_listed = true;
    for (const auto& profile :
         {full_profile(), bare, no_host_model, none_supported, migration::Profile{}}) {
        const auto body = cpu_profile_body(profile);
        ASSERT_TRUE(body) << body.error().message;
        const auto read = decode(*body);

        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->profile, profile);
        EXPECT_EQ(read->meta.name, profile_name(profile));
        EXPECT_EQ(migration::digest(read->profile), migration::digest(profile));
    }
}

TEST(CpuProfileTest, NamesAreDnsLabelsOfTheContent) {
    const auto name = profile_name(full_profile());

    EXPECT_TRUE(is_profile_name(name));
    EXPECT_EQ(name.size(), 44U);
    EXPECT_NE(name, profile_name(scout::test::host({})));
    for (const auto* other : {"", "cpu-", "cpu-1234", "Something"}) {
        EXPECT_FALSE(is_profile_name(other)) << other;
    }
    EXPECT_FALSE(is_profile_name("cpu-" + std::string(40, 'G')));
}

TEST(CpuProfileTest, AnObjectThatIsNotNamedAsItsContentIsPassedOver) {
    auto body = cpu_profile_body(full_profile()).value();
    body.replace(body.find("\"avx\""), 5, "\"avy\"");

    const auto read = decode(body);

    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::invalid);
    EXPECT_THAT(read.error().message, HasSubstr("expected the name of its content, cpu-"));
}

TEST(CpuProfileTest, FaultsAreNamedByTheirPath) {
    const auto fault = [](const std::string& spec) {
        const auto read = decode(R"({"metadata":{"name":"n"},"spec":)" + spec + "}");
        return read ? std::string{} : read.error().message;
    };
    EXPECT_THAT(fault(R"({"models":[{"name":"a","usable":"maybe"}]})"),
                HasSubstr("spec.models[0].usable: expected yes, no or unknown, found 'maybe'"));
    EXPECT_THAT(fault(R"({"maxVcpus":-1})"), HasSubstr("spec.maxVcpus: expected 0 to"));
    EXPECT_THAT(fault(R"({"machines":"q35"})"), HasSubstr("spec.machines"));
}

TEST(CpuProfileTest, AProfileThatNoObjectTakesIsRefused) {
    auto large = scout::test::host({});
    for (int i = 0; i < 6000; ++i) {
        large.machines.push_back("m" + std::string(200, 'x') + std::to_string(10'000 + i));
    }
    auto unsorted = scout::test::host({});
    unsorted.machines = {"b", "a"};

    EXPECT_THAT(cpu_profile_body(large).error().message, HasSubstr("bytes"));
    EXPECT_FALSE(cpu_profile_body(unsorted));
}

TEST(CpuProfileTest, AMarkIsReadAndWritten) {
    auto body = cpu_profile_body(full_profile()).value();
    const auto at = body.find("\"metadata\":{") + 12;
    body.insert(at, R"("annotations":{"virt-scout.io/unused-since":"2026-01-01T00:00:00Z"},)");

    EXPECT_EQ(decode(body).value().unused_since, "2026-01-01T00:00:00Z");
    EXPECT_EQ(unused_body("u", "now"),
              R"({"metadata":{"uid":"u","annotations":{"virt-scout.io/unused-since":"now"}}})");
    EXPECT_EQ(unused_body("u", ""),
              R"({"metadata":{"uid":"u","annotations":{"virt-scout.io/unused-since":null}}})");
}

}  // namespace
}  // namespace scout::cluster
