// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include "aggregator/snapshot_file.h"
#include "aggregator/snapshot_messages.h"
#include "base/digest.h"
#include "base/files.h"
#include "tests/aggregator/fleet_fixture.h"
#include "tests/support/temporary_folder.h"
#include "virt_scout/v1/snapshot.pb.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

class SnapshotTest : public FleetFixture {
protected:
    SnapshotTest() {
        add_node("n1", small_host());
        add_node("n1", large_host());
        add_node("n2", large_host());
        add_guest("n1", guest_of(fleet.registry(), "u1", "vm-1", small_host()));
        add_guest("n1", guest_of(fleet.registry(), "u2", "vm-2", small_host()));
    }
    std::string encode() const {
        return encode_snapshot(fleet.registry(), clock.wall(), clock.steady());
    }
    Status restore(const std::string& text, Fleet& into) const {
        return restore_snapshot(text, clock.wall(), clock.steady(), into.registry());
    }
    /// A snapshot with a right checksum around this content.
    static std::string seal(const std::string& payload) {
        return "virt-scout-snapshot 1 " + sha256_hex(payload) + "\n" + payload;
    }

    Fleet next{{}, machine, test::small_map(), clock};
};

TEST_F(SnapshotTest, FleetComesBackWholeWithHonestAges) {
    clock.advance(5s);
    fleet.registry().touch("n2", clock.steady());
    clock.advance(3s);
    const auto text = encode();
    clock.advance(40s);

    const auto restored = restore(text, next);

    ASSERT_TRUE(restored) << restored.error().message;
    const auto& n1 = *next.registry().find("n1");
    const auto& n2 = *next.registry().find("n2");
    EXPECT_EQ(age(n1, clock.steady()), 48s);
    EXPECT_EQ(age(n2, clock.steady()), 43s);
    EXPECT_EQ(n1.freshness, Freshness::stale);
    EXPECT_EQ(n1.host_identity, "id-of-n1");
    EXPECT_EQ(n1.host, node("n1").host);
    EXPECT_EQ(n1.profile, n2.profile);
    EXPECT_EQ(n1.profile->profile, large_host());
    ASSERT_NE(n1.before.profile, nullptr);
    EXPECT_EQ(n1.before.profile->profile, small_host());
    EXPECT_EQ(n1.before.facts, node("n1").before.facts);
    EXPECT_EQ(n1.latest.facts, node("n1").latest.facts);
    EXPECT_EQ(n1.guests.at("u1"), node("n1").guests.at("u1"));
    EXPECT_EQ(n1.guests.at("u1").cpu, n1.guests.at("u2").cpu);
    EXPECT_EQ(next.registry().guests(), 2U);
    EXPECT_EQ(next.matrix().matrix().nodes(), 2U);
}

TEST_F(SnapshotTest, WhatChangesBetweenTurnsIsWrittenAsItIsThen) {
    auto& registry = fleet.registry();
    for (int i = 100; i < 220; ++i) {
        add_node("m" + std::to_string(i), small_host());
    }
    add_guest("m100", guest_of(registry, "u3", "vm-3", small_host()));
    SnapshotEncoder encoder(registry, clock.wall());
    ASSERT_FALSE(encoder.turn(clock.steady()));

    // Nobody has that CPU any more, and another may come to lie where it lay.
    ASSERT_TRUE(registry.change_guests("m100", {}, {{.uuid = "u3"}}));
    ASSERT_TRUE(registry.change_guests("n1", {}, {{.uuid = "u1"}, {.uuid = "u2"}}));
    add_guest("n1", guest_of(registry, "u4", "vm-4", large_host()));
    add_node("m2195", large_host());
    while (!encoder.turn(clock.steady())) {
    }

    const auto restored = restore(seal_snapshot(encoder.take()), next);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(next.registry().nodes().size(), 123U);
    EXPECT_EQ(next.registry().find("m100")->guests.count("u3"), 1U) << "as it was at its turn";
    EXPECT_NE(next.registry().find("m2195"), nullptr);
    const auto& guests = next.registry().find("n1")->guests;
    ASSERT_EQ(guests.size(), 1U);
    EXPECT_EQ(*guests.at("u4").cpu, *node("n1").guests.at("u4").cpu);
}

TEST_F(SnapshotTest, ProfileUnderTheDigestOfAnotherVersionServesUntilItIsReportedAnew) {
    const std::string digest(64, 'd');
    HostReport report;
    report.profile_digest = digest;
    ASSERT_TRUE(fleet.registry().report_host("n1", report));
    fleet.registry().deliver(digest, small_host());

    ASSERT_TRUE(restore(encode(), next));

    ASSERT_NE(next.registry().find("n1")->profile, nullptr);
    EXPECT_EQ(next.registry().find("n1")->profile->profile, small_host());
    EXPECT_EQ(next.registry().report_host("n1", report).value(), false) << "has to be asked for";
}

TEST_F(SnapshotTest, ClockSetBackMakesNothingYounger) {
    clock.advance(10s);
    const auto text = encode();
    clock.jump_wall(-1h);

    ASSERT_TRUE(restore(text, next));

    EXPECT_EQ(age(*next.registry().find("n1"), clock.steady()), 10s);
}

TEST_F(SnapshotTest, ClockSetForwardMakesNodesOldNotNegative) {
    const auto text = encode();
    clock.jump_wall(24h * 36'500);

    ASSERT_TRUE(restore(text, next));

    EXPECT_EQ(next.registry().find("n1")->freshness, Freshness::gone);
    EXPECT_EQ(age(*next.registry().find("n1"), clock.steady()), 24h * 3650);
}

TEST_F(SnapshotTest, DocumentsAreLeftOutAndTheirNamesKept) {
    Registry::Document document;
    document.name = "doc";
    document.path = "doc.xml";
    ASSERT_TRUE(fleet.registry().add_document(document, clock.steady()));
    document.name = "n1";
    ASSERT_TRUE(next.registry().add_document(document, clock.steady()));

    ASSERT_TRUE(restore(encode(), next));

    EXPECT_EQ(next.registry().find("doc"), nullptr);
    EXPECT_EQ(next.registry().find("n1")->kind, NodeKind::document);
    EXPECT_NE(next.registry().find("n2"), nullptr);
}

TEST_F(SnapshotTest, EveryTruncationAndEveryChangedByteIsNoticed) {
    const auto text = encode();

    for (std::size_t size = 0; size < text.size(); size += 7) {
        EXPECT_FALSE(decode_snapshot(text.substr(0, size))) << size;
    }
    for (std::size_t at = 0; at < text.size(); at += 13) {
        auto damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        const auto decoded = decode_snapshot(damaged);
        ASSERT_FALSE(decoded) << at;
        EXPECT_EQ(decoded.error().code, Errc::invalid);
    }
}

TEST_F(SnapshotTest, OtherVersionIsSaidToBeOne) {
    auto text = encode();
    text.replace(text.find(" 1 "), 3, " 2 ");

    const auto decoded = decode_snapshot(text);

    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().message, "expected format version 1, found another one");
}

TEST_F(SnapshotTest, ContentThatNoAggregatorWritesIsRefusedAsAWhole) {
    const auto with_node = [](auto change) {
        virt_scout::v1::Snapshot snapshot;
        snapshot.add_nodes()->set_name("good");
        auto* node = snapshot.add_nodes();
        node->set_name("bad");
        change(snapshot, *node);
        return seal(snapshot.SerializeAsString());
    };
    const std::vector<std::string> texts{
        seal("\xFF\xFF\xFF"),
        with_node([](auto&, auto& node) { node.clear_name(); }),
        with_node([](auto&, auto& node) { node.set_name(std::string(300, 'x')); }),
        with_node([](auto&, auto& node) { node.mutable_host()->set_profile_digest("short"); }),
        with_node([](auto&, auto& node) { node.add_guests(); }),
        with_node([](auto&, auto& node) {
            node.add_guests()->mutable_guest()->set_uuid("u");
            node.mutable_guests(0)->set_cpu(3);
        }),
        with_node([](auto& snapshot, auto&) {
            snapshot.add_profiles()->mutable_profile()->set_arch(std::string(300, 'x'));
        }),
    };
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto restored = restore(texts[i], next);
        ASSERT_FALSE(restored) << i;
        EXPECT_EQ(restored.error().code, Errc::invalid) << i;
        EXPECT_TRUE(next.registry().nodes().empty()) << i;
    }
}

TEST_F(SnapshotTest, HugeAgesDoNotOverflow) {
    virt_scout::v1::Snapshot snapshot;
    snapshot.set_saved_at_unix_ms(std::numeric_limits<std::int64_t>::min());
    auto* node = snapshot.add_nodes();
    node->set_name("n");
    node->set_age_ms(std::numeric_limits<std::uint64_t>::max());

    ASSERT_TRUE(restore(seal(snapshot.SerializeAsString()), next));

    EXPECT_EQ(next.registry().find("n")->freshness, Freshness::gone);
}

TEST_F(SnapshotTest, GuestWhoseCpuIsNotKnownComesBackSo) {
    Guest guest;
    guest.uuid = "u3";
    guest.cpu_error = "too many features";
    add_guest("n2", guest);

    ASSERT_TRUE(restore(encode(), next));

    EXPECT_EQ(next.registry().find("n2")->guests.at("u3"), guest);
}

TEST(SnapshotFileTest, MissingFileIsNoText) {
    const test::TemporaryFolder folder;

    EXPECT_EQ(load_snapshot(folder.path() / "none").value(), std::nullopt);
}

TEST(SnapshotFileTest, EmptyFileIsATextThatIsNoSnapshot) {
    const test::TemporaryFolder folder;

    const auto loaded = load_snapshot(folder.write("a.snapshot", "")).value();

    ASSERT_TRUE(loaded);
    EXPECT_FALSE(decode_snapshot(*loaded));
}

TEST(SnapshotFileTest, WhatWouldNotBeReadAgainIsNotWritten) {
    const test::TemporaryFolder folder;
    const auto path = folder.write("a.snapshot", "before");
    const auto text = std::string(snapshot_limit + 1, 'x');

    const auto stored = store_snapshot(path, text);

    ASSERT_FALSE(stored);
    EXPECT_NE(stored.error().message.find("would be read again"), std::string::npos);
    EXPECT_EQ(load_snapshot(path).value(), "before");
}

TEST(SnapshotFileTest, WhatIsNoFileIsToldAndLeftAlone) {
    const test::TemporaryFolder folder;

    EXPECT_EQ(load_snapshot(folder.path()).error().code, Errc::invalid);
    EXPECT_FALSE(set_aside(folder.path(), WallTime{}));
    EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

TEST(SnapshotFileTest, FilesAreSetAsideWithTheTimeInTheirNameAndOverNothing) {
    const test::TemporaryFolder folder;
    const WallTime wall{std::chrono::seconds{1'700'000'000}};
    const auto path = folder.write("a.snapshot", "first");
    const auto first = set_aside(path, wall).value();
    folder.write("a.snapshot", "second");

    const auto second = set_aside(path, wall).value();

    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(first.filename(), "a.snapshot.damaged-20231114T221320Z");
    EXPECT_EQ(second.filename(), "a.snapshot.damaged-20231114T221320Z-002");
    EXPECT_EQ(load_snapshot(first).value(), "first");
    EXPECT_EQ(load_snapshot(second).value(), "second");
}

TEST(SnapshotFileTest, HiddenOnesAreCountedToo) {
    const test::TemporaryFolder folder;
    for (int i = 0; i < 20; ++i) {
        const auto path = folder.write(".snap", std::to_string(i));
        ASSERT_TRUE(set_aside(path, WallTime{std::chrono::seconds{1'700'000'000 + i}}));
    }

    const std::filesystem::directory_iterator files(folder.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), static_cast<long>(kept_aside));
}

TEST(SnapshotFileTest, OnlyTheLastFewThatWereSetAsideAreKept) {
    const test::TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "a.snapshot";
    const auto put_aside = [&](int number, std::chrono::seconds time) {
        folder.write("a.snapshot", std::to_string(number));
        return set_aside(path, WallTime{time}).value();
    };
    for (int i = 0; i < 20; ++i) {
        put_aside(i, std::chrono::seconds{1'700'000'000 + i / 8});
    }

    const auto kept = list_files(folder.path()).value();

    ASSERT_EQ(kept.size(), kept_aside);
    for (std::size_t i = 0; i < kept_aside; ++i) {
        EXPECT_EQ(load_snapshot(kept[i]).value(), std::to_string(20 - kept_aside + i));
    }
    // The wall clock may go back: the one that was just moved stays.
    const auto early = put_aside(20, std::chrono::seconds{1'600'000'000});
    EXPECT_EQ(load_snapshot(early).value(), "20");
    EXPECT_EQ(list_files(folder.path()).value().size(), kept_aside);
}

}  // namespace
}  // namespace scout::aggregator
