// SPDX-License-Identifier: Apache-2.0
#include "launcher/domain_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/launcher/domain_texts.h"
#include "tests/support/test_data.h"

namespace scout::launcher {
namespace {

using namespace std::chrono_literals;
using migration::CpuMode;
using testing::ElementsAre;
using testing::HasSubstr;

/// The domain of a text that must be read.
Domain read(const std::string& json) {
    auto domain = parse_domain(json);
    EXPECT_TRUE(domain) << (domain ? "" : domain.error().message);
    return domain && *domain ? **domain : Domain{};
}

/// A domain of this status.
Domain of_status(const char* status, const char* reason) {
    return Domain{.status = status, .reason = reason};
}

TEST(DomainJsonTest, ReadsIdentityStateAndHardwareByTheirExactKeys) {
    const auto domain = read(test::domain_text({}));

    EXPECT_EQ(domain.space, "shop");
    EXPECT_EQ(domain.name, "web");
    EXPECT_EQ(domain.vmi_uid, "uid-web");
    EXPECT_EQ(domain.uuid, "067416a0-7a68-447b-90e8-9010bc51f36d");
    EXPECT_EQ(state_word(domain), "running");
    EXPECT_EQ(domain.memory_kib, 2097152U);
    EXPECT_FALSE(domain.marked);
    ASSERT_TRUE(domain.cpu) << domain.cpu_error;
    EXPECT_EQ(domain.cpu->mode, CpuMode::custom);
    EXPECT_EQ(domain.cpu->arch, "x86_64");
    EXPECT_EQ(domain.cpu->virt_type, "kvm");
    EXPECT_EQ(domain.cpu->model, "Haswell");
    EXPECT_THAT(domain.cpu->require, ElementsAre("ss", "vmx"));
    EXPECT_THAT(domain.cpu->disable, ElementsAre("hle"));
    EXPECT_EQ(domain.cpu->machine, "pc-q35-9.0");
    EXPECT_EQ(domain.cpu->vcpus, 2U);
    EXPECT_EQ(domain.cpu->tsc_hz, std::nullopt);
    ASSERT_TRUE(domain.cpu->ties);
    EXPECT_TRUE(domain.cpu->ties->empty());
    EXPECT_EQ(domain.cpu->doubt, "");
}

TEST(DomainJsonTest, KeysInAnotherCaseAreOtherKeys) {
    const auto domain = read(R"({"status":{"status":"Running"},"spec":{"uuid":"a"},
        "Status":{"status":"Running"},"Spec":{"Metadata":{"KubeVirt":{"gracePeriod":
        {"markedForGracefulShutdown":true}}}}})");

    EXPECT_EQ(domain.status, "");
    EXPECT_EQ(domain.uuid, "");
    EXPECT_FALSE(domain.marked);
}

TEST(DomainJsonTest, NoTextIsNoDomain) {
    const auto domain = parse_domain("");

    ASSERT_TRUE(domain);
    EXPECT_FALSE(*domain);
}

TEST(DomainJsonTest, MarkGraceAndFirstShutdownRequest) {
    const auto domain = read(test::domain_text(
        {.grace = R"({"DeletionGracePeriodSeconds":30,"DeletionTimestamp":"2026-11-27T12:00:05Z",
                      "MarkedForGracefulShutdown":true,"Later":1})"}));

    EXPECT_TRUE(domain.marked);
    EXPECT_EQ(domain.grace, 30s);
    EXPECT_EQ(domain.first_shutdown_request, WallTime{1'795'780'805s});
}

TEST(DomainJsonTest, FormsOfAnUnsetMark) {
    EXPECT_FALSE(
        read(test::domain_text({.grace = R"({"MarkedForGracefulShutdown":null})"})).marked);
    EXPECT_FALSE(
        read(test::domain_text({.grace = R"({"MarkedForGracefulShutdown":false})"})).marked);
    EXPECT_EQ(read(test::domain_text({.grace = "{}"})).grace, std::nullopt);
}

TEST(DomainJsonTest, MigrationOfTheLauncher) {
    const auto domain = read(test::domain_text(
        {.migration = R"({"UID":"m1","StartTimestamp":"2026-11-27T12:00:00Z","EndTimestamp":
             "2026-11-27T12:00:09.5Z","Failed":true,"FailureReason":"aborted","AbortStatus":
             "Succeeded","Mode":"PreCopy"})"}));

    ASSERT_TRUE(domain.migration);
    EXPECT_EQ(domain.migration->uid, "m1");
    EXPECT_EQ(domain.migration->end.value() - domain.migration->start.value(), 9500ms);
    EXPECT_TRUE(domain.migration->failed);
    EXPECT_EQ(domain.migration->mode, "PreCopy");
    EXPECT_FALSE(migration_in_progress(domain));
}

TEST(DomainJsonTest, WordsOfAMigrationAreCut) {
    const std::string million(1'000'000, 'x');
    const auto domain = read(test::domain_text(
        {.migration = R"({"UID":")" + million + R"(","Mode":")" + million + "\"}"}));

    ASSERT_TRUE(domain.migration);
    EXPECT_EQ(domain.migration->uid.size(), 253U);
    EXPECT_EQ(domain.migration->mode.size(), 253U);
}

TEST(DomainJsonTest, StateWordsAreLibvirts) {
    const std::vector<std::pair<const char*, const char*>> words{
        {"Running", "running"},         {"Blocked", "blocked"}, {"Paused", "paused"},
        {"ShuttingDown", "shutdown"},   {"Shutoff", "shutoff"}, {"Crashed", "crashed"},
        {"PMSuspended", "pmsuspended"}, {"NoState", "nostate"}, {"", "nostate"},
        {"Dreaming", "nostate"}};
    for (const auto& [status, word] : words) {
        EXPECT_EQ(state_word(of_status(status, "")), word) << status;
    }
}

TEST(DomainJsonTest, AliveAsVirtHandlerJudges) {
    EXPECT_TRUE(is_alive(of_status("Running", "Unknown")));
    EXPECT_TRUE(is_alive(of_status("ShuttingDown", "User")));
    EXPECT_TRUE(is_alive(of_status("NoState", "")));
    EXPECT_FALSE(is_alive(of_status("Shutoff", "Shutdown")));
    EXPECT_FALSE(is_alive(of_status("Crashed", "Panicked")));
    EXPECT_FALSE(is_alive(of_status("", "")));
}

TEST(DomainJsonTest, MigrationInProgressAsVirtHandlerJudges) {
    auto source = of_status("Running", "Unknown");
    EXPECT_FALSE(migration_in_progress(source));
    source.migration = MigrationMetadata{.uid = "m1"};
    EXPECT_FALSE(migration_in_progress(source));
    source.migration->start = WallTime{1s};
    EXPECT_TRUE(migration_in_progress(source));
    source.migration->end = WallTime{2s};
    EXPECT_FALSE(migration_in_progress(source));
    for (const auto* reason : {"Migration", "StartingUp", "Postcopy"}) {
        EXPECT_TRUE(migration_in_progress(of_status("Paused", reason))) << reason;
    }
    EXPECT_FALSE(migration_in_progress(of_status("Paused", "User")));
    EXPECT_FALSE(migration_in_progress(of_status("Paused", "PostcopyFailed")));
}

TEST(DomainJsonTest, TargetOfAMigrationIsNotYetHereAndItsSourceIs) {
    EXPECT_TRUE(is_not_yet_here(of_status("Paused", "Migration")));
    EXPECT_TRUE(is_not_yet_here(of_status("Paused", "StartingUp")));
    EXPECT_TRUE(is_not_yet_here(of_status("NoState", "NonExistent")));
    EXPECT_FALSE(is_not_yet_here(of_status("Paused", "User")));
    EXPECT_FALSE(is_not_yet_here(of_status("Running", "Unknown")));
    auto source = of_status("Paused", "Migration");
    source.migration = MigrationMetadata{.uid = "m1", .start = WallTime{1s}};
    EXPECT_FALSE(is_not_yet_here(source));
    EXPECT_TRUE(has_moved_away(of_status("Shutoff", "Migrated")));
    EXPECT_FALSE(has_moved_away(of_status("Shutoff", "Shutdown")));
}

TEST(DomainJsonTest, TiesPinnedTscAndWhatIsNotSettled) {
    const auto tied = read(test::domain_text(
        {.extra_spec = R"(,"LaunchSecurity":{"Type":"sev"},"Clock":{"Timer":[{"Name":"rtc",
             "Frequency":""},{"Name":"tsc","Frequency":"2445406000"}]})",
         .devices = R"({"HostDevices":[{"Type":"pci"},{"Type":"strange"}],"Interfaces":
             [{"Type":"ethernet"},{"Type":"hostdev"}],"Filesystems":[{"Type":"mount"}]})"}));

    ASSERT_TRUE(tied.cpu) << tied.cpu_error;
    EXPECT_EQ(tied.cpu->tsc_hz, 2445406000U);
    EXPECT_THAT(*tied.cpu->ties, ElementsAre("filesystem", "hostdev", "hostdev pci",
                                             "interface hostdev", "launchSecurity sev"));
    EXPECT_THAT(read(test::domain_text({.mode = "host-model"})).cpu->doubt,
                HasSubstr("not resolved"));
    EXPECT_THAT(read(test::domain_text({.status = "Shutoff"})).cpu->doubt,
                HasSubstr("does not run"));
    EXPECT_EQ(read(test::domain_text({.mode = "maximum"})).cpu->mode, CpuMode::host_passthrough);
}

TEST(DomainJsonTest, CpuThatLibvirtWouldNotTellHidesNotTheMark) {
    const auto read_with = [](const std::string& features) {
        return read(test::domain_text(
            {.grace = R"({"MarkedForGracefulShutdown":true})", .features = features}));
    };
    const std::vector<std::pair<std::string, std::string>> faults{
        {R"([{"Name":"vmx","Policy":"perhaps"}])", "perhaps"},
        {R"([{"Name":"vmx","Policy":"require"},{"Name":"vmx","Policy":"disable"}])", "one policy"},
        {R"([{"Name":"","Policy":"require"}])", "found none"},
        {R"([{"Name":"a\nb","Policy":"require"}])", "control characters"},
        {R"([{"Name":")" + std::string(254, 'x') + R"(","Policy":""}])", "found 254"}};
    for (const auto& [features, words] : faults) {
        const auto domain = read_with(features);
        EXPECT_TRUE(domain.marked);
        EXPECT_FALSE(domain.cpu);
        EXPECT_THAT(domain.cpu_error, HasSubstr(words));
    }
    EXPECT_THAT(read(test::domain_text({.mode = "strange"})).cpu_error, HasSubstr("strange"));
    EXPECT_THAT(read(test::domain_text({.memory = R"({"Value":1,"Unit":"acres"})"})).cpu_error,
                HasSubstr("acres"));
}

TEST(DomainJsonTest, DamagedTextsAreToldWithTheirPlace) {
    const std::vector<std::pair<std::string, std::string>> texts{
        {"[]", "JSON object"},
        {"{", "domain"},
        {R"({"Spec":{"UUID":7}})", "Spec.UUID: expected a string, found a number"},
        {R"({"Spec":{"Metadata":{"KubeVirt":{"GracePeriod":{"MarkedForGracefulShutdown":"x"}}}}})",
         "MarkedForGracefulShutdown: expected true or false"},
        {R"({"Status":{"Status":"a\u0000b"}})", "control characters"},
        {std::string(document_limit + 1, ' '), "4194304 bytes"}};
    for (const auto& [text, words] : texts) {
        const auto domain = parse_domain(text);
        ASSERT_FALSE(domain) << words;
        EXPECT_EQ(domain.error().code, Errc::invalid);
        EXPECT_THAT(domain.error().message, HasSubstr(words));
    }
}

/// Each entry is small in a document and large in memory.
TEST(DomainJsonTest, ListsHaveAnEnd) {
    const auto many = [](std::size_t count) {
        std::string text = "[{}";
        for (std::size_t i = 1; i < count; ++i) {
            text += ",{}";
        }
        return text + "]";
    };
    EXPECT_TRUE(parse_domain_stats(R"({"Block":)" + many(4096) + "}"));
    const auto stats = parse_domain_stats(R"({"Block":)" + many(4097) + "}");
    ASSERT_FALSE(stats);
    EXPECT_THAT(stats.error().message, HasSubstr("Block: expected at most 4096 entries"));
    for (const std::string list :
         {R"("CPU":{"Features":)", R"("Clock":{"Timer":)", R"("Devices":{"HostDevices":)",
          R"("Devices":{"Interfaces":)", R"("Devices":{"Filesystems":)"}) {
        const auto domain = parse_domain(R"({"Spec":{)" + list + many(4097) + "}}}");
        ASSERT_FALSE(domain) << list;
        EXPECT_THAT(domain.error().message, HasSubstr("4096 entries")) << list;
    }
}

TEST(DomainJsonTest, CountersCountOnlyWhereTheyAreSet) {
    const auto stats = parse_domain_stats(R"({"Name":"shop_web","UUID":"u1",
        "Memory":{"RSSSet":true,"RSS":10,"UnusedSet":false,"Unused":7,"TotalSet":true,"Total":-1},
        "MigrateDomainJobInfo":{"MemDirtyRateSet":true,"MemDirtyRate":8192},"DirtyRate":{"MegabytesPerSecondSet":true,
        "MegabytesPerSecond":42}})");

    ASSERT_TRUE(stats && *stats);
    EXPECT_EQ((*stats)->name, "shop_web");
    EXPECT_EQ((*stats)->rss_kib, 10U);
    EXPECT_EQ((*stats)->unused_kib, std::nullopt);
    EXPECT_EQ((*stats)->total_kib, std::nullopt);
    EXPECT_EQ((*stats)->job, JobInfo{.dirty_rate = 8192}) << "bytes, as it is";
    EXPECT_EQ((*stats)->dirty_mib_s, 42U);
    EXPECT_FALSE(parse_domain_stats("").value());
    EXPECT_FALSE(parse_domain_stats("7"));
}

TEST(DomainJsonTest, DisksInThePodCountByWhatTheyTake) {
    const auto stats = parse_domain_stats(R"({"Name":"shop_web","Block":[
        {"Name":"vda","PathSet":true,"Path":"/var/run/kubevirt-ephemeral-disks/disk-data/r/disk.qcow2",
         "PhysicalSet":true,"Physical":5},
        {"Name":"vda","PathSet":true,"Path":"/var/run/kubevirt-ephemeral-disks/image","PhysicalSet":true,
         "Physical":100},
        {"Name":"vdb","Path":"/var/run/libvirt/empty-disks/data.qcow2","PhysicalSet":true,"Physical":70},
        {"Name":"vdc","Path":"/var/run/libvirt/empty-disks/more.qcow2","PhysicalSet":false,"Physical":9},
        {"Name":"vdd","Path":"/var/run/kubevirt-private/vmi-disks/root/disk.img","PhysicalSet":true,
         "Physical":1000}]})");

    ASSERT_TRUE(stats && *stats) << stats.error().message;
    EXPECT_EQ((*stats)->pod_disks, (PodDisks{.bytes = 75, .counted = 5}));
    EXPECT_EQ(parse_domain_stats(R"({"Name":"a","Block":null})").value()->pod_disks, PodDisks{});
}

/// What a launcher of 1.9.0 answers.
class CapturedLauncherTest : public testing::Test {
protected:
    static std::string text(const std::filesystem::path& data, const char* name) {
        return read_file(data / "kubevirt" / "launcher" / name).value();
    }
};

TEST_F(CapturedLauncherTest, RunningGuestHasItsCpuWith14Features) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto domain = read(text(data, "get-domain-running.json"));

    EXPECT_EQ(domain.space + "/" + domain.name, "ns1/vm1");
    EXPECT_EQ(state_word(domain), "running");
    EXPECT_FALSE(domain.marked);
    EXPECT_EQ(domain.grace, 30s);
    EXPECT_EQ(domain.memory_kib, 65536U);
    ASSERT_TRUE(domain.cpu) << domain.cpu_error;
    EXPECT_EQ(domain.cpu->model, "Skylake-Server-IBRS");
    EXPECT_EQ(domain.cpu->require.size(), 14U);
    EXPECT_EQ(domain.cpu->machine, "pc-q35-7.2");
    EXPECT_EQ(domain.cpu->doubt, "");
    EXPECT_FALSE(migration_in_progress(domain));
}

TEST_F(CapturedLauncherTest, MarkAndMigrationAreSeen) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto marked = read(text(data, "get-domain-marked.json"));
    const auto migrating = read(text(data, "get-domain-migrating.json"));

    EXPECT_TRUE(marked.marked);
    EXPECT_FALSE(migration_in_progress(marked));
    EXPECT_TRUE(migrating.marked);
    EXPECT_TRUE(migration_in_progress(migrating));
    EXPECT_EQ(migrating.migration->uid, "99990000-1111-4222-8333-444455556666");
    EXPECT_FALSE(is_not_yet_here(migrating));
}

TEST_F(CapturedLauncherTest, StatsOfAMigration) {
    SCOUT_TEST_DATA_OR_SKIP(data);
    const auto stats = parse_domain_stats(text(data, "get-domain-stats.json"));

    ASSERT_TRUE(stats && *stats);
    EXPECT_EQ((*stats)->rss_kib, 2097152U);
    EXPECT_EQ((*stats)->job.data_total, 2147483648U);
    EXPECT_EQ((*stats)->job.data_remaining, 1073741824U);
    EXPECT_EQ((*stats)->job.memory_bps, 104857600U);
    EXPECT_EQ((*stats)->dirty_mib_s, 42U);
}

}  // namespace
}  // namespace scout::launcher
