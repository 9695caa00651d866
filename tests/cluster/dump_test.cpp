// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cluster/scheduling_objects.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace scout::cluster {
namespace {

class DumpTest : public ::testing::Test {
protected:
    std::filesystem::path write_gzip(const std::string& name, const std::string& text) {
        const auto path = folder.path() / name;
        const auto file = ::gzopen(path.c_str(), "wb");
        EXPECT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
                  static_cast<int>(text.size()));
        EXPECT_EQ(::gzclose(file), Z_OK);
        return path;
    }
    Dump read() { return read_dump({folder.path()}).value(); }
    static std::vector<std::string> names(const Objects& objects) {
        std::vector<std::string> out;
        for (const auto& node : objects.nodes) {
            out.push_back(node.meta.name);
        }
        return out;
    }

    test::TemporaryFolder folder;
};

std::string node(const std::string& name, const std::string& version = "1",
                 const std::string& label = "a") {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
           R"(","resourceVersion":")" + version + R"(","labels":{"l":")" + label + R"("}}})";
}

TEST_F(DumpTest, EveryFormIsRead) {
    folder.write("a.json", node("json"));
    folder.write("b.yaml",
                 "kind: Node\napiVersion: v1\nmetadata: {name: yaml}\n---\n"
                 "kind: Node\napiVersion: v1\nmetadata: {name: second}\n");
    folder.write("c.yml",
                 "kind: List\napiVersion: v1\nitems:\n- kind: Node\n  apiVersion: v1\n"
                 "  metadata: {name: listed}\n");
    folder.write("d.json", R"({"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[)"
                           R"({"metadata":{"name":"typed"}}]})");
    write_gzip("e.json.gz", node("packed"));
    std::filesystem::create_directories(folder.path() / "deep" / "er");
    folder.write("deep/er/f.yaml", "kind: Node\napiVersion: v1\nmetadata: {name: deep}\n");
    folder.write("notes.txt", node("not-read"));

    const auto dump = read();

    EXPECT_EQ(names(dump.objects), (std::vector<std::string>{"deep", "json", "listed", "packed",
                                                             "second", "typed", "yaml"}));
    EXPECT_TRUE(dump.left_out.empty());
    EXPECT_EQ(dump.files, 6U);
}

TEST_F(DumpTest, FileThatIsNamedMayBeCalledAnything) {
    const auto path = folder.write("nodes", node("n1"));

    EXPECT_EQ(names(read_dump({path}).value().objects), std::vector<std::string>{"n1"});
}

TEST_F(DumpTest, OnlyWhatIsAskedAboutIsKept) {
    folder.write("a.json", R"({"kind":"List","apiVersion":"v1","items":[
        {"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}},
        {"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"x"}},
        {"kind":"Pod","apiVersion":"v1","metadata":{"name":"virt-launcher-a","namespace":"x",
            "labels":{"kubevirt.io/created-by":"u1"}},"spec":{"nodeName":"n1"}},
        {"kind":"VirtualMachineInstance","apiVersion":"kubevirt.io/v1",
            "metadata":{"name":"a","namespace":"x","uid":"u1"}},
        {"kind":"VirtualMachineInstance","apiVersion":"other.io/v1","metadata":{"name":"b"}},
        {"kind":"VirtualMachineInstanceMigration","apiVersion":"kubevirt.io/v1",
            "metadata":{"name":"m","namespace":"x"}},
        {"kind":"KubeVirt","apiVersion":"kubevirt.io/v1",
            "metadata":{"name":"kubevirt","namespace":"kubevirt"}}]})");

    const auto dump = read();

    EXPECT_TRUE(dump.left_out.empty());
    ASSERT_EQ(dump.objects.launchers.size(), 1U);
    EXPECT_EQ(dump.objects.launchers[0].node, "n1");
    ASSERT_EQ(dump.objects.vmis.size(), 1U);
    EXPECT_EQ(dump.objects.vmis[0].meta.uid, "u1");
    EXPECT_EQ(dump.objects.migrations.size(), 1U);
    EXPECT_EQ(dump.objects.kubevirts.size(), 1U);
    // Of a pod that is no launcher the scheduler's part is kept: it takes room.
    ASSERT_NE(dump.objects.scheduling, nullptr);
    EXPECT_EQ(dump.objects.scheduling->pods.size(), 2U);
    EXPECT_EQ(dump.other_kinds, 2U);
}

TEST_F(DumpTest, WhatOnlyTheSchedulerNeedsLosesNoObject) {
    folder.write("a.json", R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"},
        "status":{"allocatable":{"cpu":"many"}}})");
    folder.write("b.json", R"({"kind":"VirtualMachineInstance","apiVersion":"kubevirt.io/v1",
        "metadata":{"name":"a","namespace":"x","uid":"u1"},"spec":{"tolerations":7}})");

    const auto dump = read();

    EXPECT_EQ(dump.objects.nodes.size(), 1U);
    EXPECT_EQ(dump.objects.vmis.size(), 1U);
    ASSERT_EQ(dump.left_out.size(), 2U);
    EXPECT_EQ(dump.left_out[0].place, "n1");
    EXPECT_NE(dump.left_out[1].reason.find("spec.tolerations"), std::string::npos);
    EXPECT_FALSE(dump.objects.scheduling->all_wishes);
}

TEST_F(DumpTest, NewestVersionOfAnObjectHolds) {
    folder.write("a.json", node("n1", "9", "old"));
    folder.write("b.json", node("n1", "10", "new"));
    folder.write("c.json", node("n1", "8", "older"));

    const auto dump = read();

    ASSERT_EQ(dump.objects.nodes.size(), 1U);
    EXPECT_EQ(dump.objects.nodes[0].labels.find("l"), "new");
}

TEST_F(DumpTest, ObjectsOfTwoClustersAreTold) {
    const auto of = [](const std::string& uid, const std::string& version) {
        return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":")" + uid +
               R"(","resourceVersion":")" + version + R"("}})";
    };
    folder.write("a.json", of("u1", "9"));
    folder.write("b.json", of("u2", "10"));
    folder.write("c.json", of("u2", "11"));

    const auto dump = read();

    EXPECT_EQ(dump.objects.nodes.size(), 1U);
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_EQ(dump.left_out[0].place, "n1");
    EXPECT_NE(dump.left_out[0].reason.find("of two clusters"), std::string::npos);
}

TEST_F(DumpTest, OneKubeVirtCountsAndTheOtherIsTold) {
    const auto in = [](const std::string& space) {
        return R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kv",
                   "namespace":")" +
               space + R"("},"status":{"phase":"Deployed"}})";
    };
    folder.write("a.json", in("b"));
    EXPECT_TRUE(read().left_out.empty());
    folder.write("b.json", in("a"));

    const auto dump = read();

    EXPECT_EQ(dump.objects.kubevirts.size(), 2U);
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_EQ(dump.left_out[0].place, "b/kv");
    EXPECT_NE(dump.left_out[0].reason.find("a/kv counts"), std::string::npos);
}

TEST_F(DumpTest, AnArchiveIsNoDump) {
    std::string tar(512, '\0');
    tar.replace(0, 6, "a.yaml");
    tar.replace(257, 5, "ustar");

    const auto packed = read_dump({write_gzip("gather.tar.gz", tar)}).value();

    ASSERT_EQ(packed.left_out.size(), 1U);
    EXPECT_NE(packed.left_out[0].reason.find("unpack it"), std::string::npos);
}

TEST_F(DumpTest, ObjectsMayStandOneBehindTheOther) {
    folder.write("a.json", node("n1") + "\n" + node("n2") + "\n---\n" + node("n3"));
    folder.write("b.json", node("n4") + "{\"kind\":");

    const auto dump = read();

    EXPECT_EQ(names(dump.objects), (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_NE(dump.left_out[0].place.find("object 2"), std::string::npos);
}

TEST_F(DumpTest, OnlyListsAreTakenApart) {
    folder.write("a.json",
                 R"({"kind":"AllowList","apiVersion":"x.io/v1","metadata":{"name":"a"}})");
    std::string nested = node("deep");
    for (int i = 0; i < 1000; ++i) {
        nested = R"({"kind":"List","apiVersion":"v1","items":[)" + nested + "]}";
    }
    folder.write("b.json", nested);

    const auto dump = read();

    EXPECT_EQ(dump.other_kinds, 1U);
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_NE(dump.left_out[0].reason.find("lists within lists"), std::string::npos);
}

TEST_F(DumpTest, MomentIsTheLatestThatANodeSpeaksOf) {
    const auto with = [](const std::string& name, const std::string& rest) {
        return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name + "\"}," + rest +
               "}";
    };
    folder.write("a.json", with("n1", R"("status":{"conditions":[{"type":"Ready","status":"True",
        "lastTransitionTime":"2026-03-02T06:00:00Z","lastHeartbeatTime":"2026-03-02T10:00:00Z"}]})"));
    folder.write("b.json", with("n2", R"("spec":{"taints":[{"key":"k","effect":"NoSchedule",
        "timeAdded":"2026-03-02T08:00:00Z"}]})"));

    EXPECT_EQ(rfc3339(read().moment), "2026-03-02T10:00:00Z");
}

TEST_F(DumpTest, WhatCannotBeUsedIsListedAndTheRestGoesOn) {
    folder.write("a.json", R"({"kind":"List","apiVersion":"v1","items":[)" + node("good") +
                               R"(,{"kind":"Node","apiVersion":"v1","metadata":{"name":7}},)"
                               R"({"kind":"Node","apiVersion":"v1"}]})");
    folder.write("b.json", "{\"kind\":");
    folder.write("c.yaml", "a: [1\n");
    folder.write("d.yaml", "just: data\n");
    auto packed = write_gzip("e.json.gz", node("cut") + std::string(100'000, ' '));
    std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 9);
    folder.write("f.json", node("last"));

    const auto dump = read();

    EXPECT_EQ(names(dump.objects), (std::vector<std::string>{"good", "last"}));
    std::vector<std::string> places;
    for (const auto& left : dump.left_out) {
        EXPECT_FALSE(left.reason.empty());
        places.push_back(left.place.substr(folder.path().string().size() + 1));
    }
    EXPECT_EQ(places, (std::vector<std::string>{"a.json: item 2", "a.json: item 3", "b.json",
                                                "c.yaml", "d.yaml", "e.json.gz"}));
}

/// For root no folder is closed.
TEST_F(DumpTest, AFolderThatIsClosedCostsNoneOfTheOthers) {
    folder.write("a.json", node("n1"));
    std::filesystem::create_directory(folder.path() / "closed");
    folder.write("closed/b.json", node("n2"));
    std::filesystem::permissions(folder.path() / "closed", std::filesystem::perms::none);
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
    constexpr uid_t nobody = 65534;
    const bool root = ::geteuid() == 0;
    ASSERT_TRUE(!root || ::seteuid(nobody) == 0);

    const auto dump = read();

    ASSERT_TRUE(!root || ::seteuid(0) == 0);
    std::filesystem::permissions(folder.path() / "closed", std::filesystem::perms{0700});
    EXPECT_EQ(names(dump.objects), (std::vector<std::string>{"n1"}));
    ASSERT_EQ(dump.left_out.size(), 1U);
    EXPECT_TRUE(dump.left_out[0].place.ends_with("/closed")) << dump.left_out[0].place;
    EXPECT_NE(dump.left_out[0].reason.find("denied"), std::string::npos);
}

/// The reader has room for each text once.
TEST_F(DumpTest, NamesMayBeAsLongAsTheObject) {
    const std::string name(100'000, 'n');
    folder.write("a.json", node(name) + node("n2"));
    folder.write("b.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "b\n");

    EXPECT_EQ(read().objects.nodes.size(), 3U);
}

TEST_F(DumpTest, LimitsHold) {
    folder.write("a.json", node("n1"));
    folder.write("b.json", node("n2"));
    folder.write("c.json", "{}");
    folder.write("d.json", "{}");

    const auto small = read_dump({folder.path()}, {}, {.file_bytes = 4, .left_out = 1}).value();
    const auto few = read_dump({folder.path()}, {}, {.files = 3});

    ASSERT_EQ(small.left_out.size(), 2U);
    EXPECT_NE(small.left_out[0].reason.find("at most 4 bytes"), std::string::npos);
    EXPECT_EQ(small.left_out[1].place, "and 3 more");
    ASSERT_FALSE(few);
    EXPECT_EQ(few.error().code, Errc::invalid);
}

TEST_F(DumpTest, PathsThatAreNoneAreToldByName) {
    const auto fifo = folder.path() / "fifo.json";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

    const auto missing = read_dump({folder.path() / "missing"});

    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Errc::not_found);
    EXPECT_NE(missing.error().message.find("missing"), std::string::npos);
    EXPECT_EQ(read().files, 0U);
    EXPECT_EQ(read_dump({fifo}).value().left_out.size(), 1U);
}

TEST_F(DumpTest, ProgressTellsEachFile) {
    folder.write("a.json", node("n1"));
    folder.write("b.json", node("n2"));
    std::vector<std::pair<std::size_t, std::size_t>> told;

    ASSERT_TRUE(read_dump({folder.path()}, [&](std::size_t file, std::size_t files) {
        told.push_back({file, files});
    }));

    EXPECT_EQ(told, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {2, 2}}));
}

TEST(RealDumpTest, RunningKubeVirtIsReadWhole) {
    SCOUT_TEST_DATA_OR_SKIP(data);

    const auto dump =
        read_dump({data / "kubevirt" / "live", data / "kubernetes" / "nodes"}).value();

    EXPECT_TRUE(dump.left_out.empty());
    EXPECT_EQ(dump.objects.nodes.size(), 4U + 4U) << "two of the files tell of one node";
    EXPECT_EQ(dump.objects.kubevirts.size(), 1U);
    EXPECT_GE(dump.objects.vmis.size(), 5U);
    EXPECT_GE(dump.objects.launchers.size(), 5U);
    EXPECT_GE(dump.objects.migrations.size(), 3U);
}

}  // namespace
}  // namespace scout::cluster
