// SPDX-License-Identifier: Apache-2.0
#include "migration/upgrade_impact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

using test::host;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;

/// Of hosts of which nothing but the profile is known.
UpgradeImpact impact_of(const Profile& before, const Profile& after, const CpuMap& map) {
    const HostFacts facts;
    return upgrade_impact({.profile = before, .facts = facts}, {.profile = after, .facts = facts},
                          &map);
}

TEST(UpgradeImpactTest, AdvisesARestartWhereFeaturesWentAway) {
    const auto map = test::small_map();

    const auto impact =
        impact_of(host({.model = "Small", .not_usable = {"Small"}}),
                  host({.model = "Small", .require = {"ssbd"}, .disable = {"sse"}}), map);

    EXPECT_TRUE(impact.comparable);
    EXPECT_EQ(impact.map, "test map");
    EXPECT_FALSE(impact.assumed);
    EXPECT_FALSE(impact.model_changed());
    EXPECT_THAT(impact.missing_after, ElementsAre("sse"));
    EXPECT_THAT(impact.missing_before, ElementsAre("ssbd"));
    EXPECT_EQ(impact.named_usable_before, Usable::no);
    EXPECT_EQ(impact.named_usable_after, std::nullopt);
    EXPECT_THAT(impact.advice, StartsWith("restart"));
}

TEST(UpgradeImpactTest, AdvisesNothingWhereFeaturesWereOnlyAdded) {
    const auto map = test::small_map();

    const auto impact = impact_of(host({.model = "Small"}), host({.model = "Large"}), map);

    EXPECT_TRUE(impact.model_changed());
    EXPECT_THAT(impact.missing_after, IsEmpty());
    EXPECT_THAT(impact.missing_before, ElementsAre("aes", "avx"));
    EXPECT_THAT(impact.advice, StartsWith("none needed"));
}

/// A host that tells everything that is compared.
Profile telling_host(std::vector<std::string> machines, unsigned bits) {
    auto profile = host({.machines = std::move(machines)});
    profile.host_model->maxphysaddr = MaxPhysAddr{.mode = "passthrough", .bits = {}, .limit = bits};
    return profile;
}

TEST(UpgradeImpactTest, NamesMachineTypesThatAreGoneAndThoseThatAreNew) {
    const auto map = test::small_map();
    const HostFacts facts{.tsc_hz = 2'000'000'000};
    const auto before = telling_host({"pc-q35-4.2", "pc-q35-7.2", "q35"}, 46);
    const auto after = telling_host({"pc-q35-7.2", "pc-q35-9.1", "q35"}, 46);

    const auto impact = upgrade_impact({before, facts}, {after, facts}, &map);
    const auto same = upgrade_impact({before, facts}, {before, facts}, &map);

    EXPECT_THAT(impact.machines_missing_after, Optional(ElementsAre("pc-q35-4.2")));
    EXPECT_THAT(impact.machines_missing_before, Optional(ElementsAre("pc-q35-9.1")));
    EXPECT_THAT(impact.notes, ElementsAre(HasSubstr("no longer offered: pc-q35-4.2; guests"),
                                          HasSubstr("new: pc-q35-9.1; guests")));
    EXPECT_THAT(impact.advice, StartsWith("none needed for CPU features"));
    EXPECT_THAT(impact.advice, HasSubstr("machine types that are gone need another one"));
    EXPECT_THAT(same.machines_missing_after, Optional(IsEmpty()));
    EXPECT_THAT(same.notes, IsEmpty());
    EXPECT_THAT(same.advice, Not(HasSubstr("notes")));
}

TEST(UpgradeImpactTest, JudgesTscAndWidthOfAddresses) {
    const auto map = test::small_map();
    const auto wide = telling_host({"q35"}, 52);
    const auto narrow = telling_host({"q35"}, 46);
    const HostFacts fast{.tsc_hz = 3'000'000'000, .tsc_scalable = true};
    const HostFacts slow{.tsc_hz = 2'000'000'000};

    const auto worse = upgrade_impact({wide, fast}, {narrow, slow}, &map);
    const auto better = upgrade_impact({narrow, slow}, {wide, fast}, &map);

    EXPECT_THAT(worse.notes,
                ElementsAre(AllOf(HasSubstr("from 3000000000 Hz (scalable) to 2000000000 Hz"),
                                  HasSubstr("before cannot migrate to it; those pinned to lower")),
                            HasSubstr("fixed width over 46 bits cannot migrate to it")));
    EXPECT_THAT(better.notes,
                ElementsAre(AllOf(HasSubstr("the frequency before still fit; guests pinned to the "
                                            "new one cannot go to hosts that were not changed"),
                                  HasSubstr("lower than both cannot go")),
                            HasSubstr("over 46 bits cannot go to hosts that were not changed")));
}

TEST(UpgradeImpactTest, AsksTscBothWays) {
    const auto map = test::small_map();
    const auto machine = telling_host({"q35"}, 46);
    const auto note = [&](const HostFacts& before, const HostFacts& after) {
        return upgrade_impact({machine, before}, {machine, after}, &map).notes.at(0);
    };
    const HostFacts scaling{.tsc_hz = 2'000'000'000, .tsc_scalable = true};
    const HostFacts faster{.tsc_hz = 3'000'000'000, .tsc_scalable = true};
    const HostFacts fixed{.tsc_hz = 2'000'000'000};
    constexpr auto back = "pinned to the new one cannot go to hosts that were not changed";

    EXPECT_THAT(note(scaling, faster), AllOf(HasSubstr("still fit"), HasSubstr(back)));
    EXPECT_THAT(note(faster, scaling), AllOf(HasSubstr("cannot migrate"), Not(HasSubstr(back))));
    EXPECT_THAT(note(fixed, scaling),
                AllOf(HasSubstr("still fit"), Not(HasSubstr(back)), HasSubstr("do not scale")));
}

TEST(UpgradeImpactTest, SaysWhatADocumentDoesNotTellInsteadOfTakingItForEqual) {
    const auto map = test::small_map();
    const HostFacts told{.tsc_hz = 2'000'000'000};
    const HostFacts silent;
    const auto telling = telling_host({"q35"}, 46);

    const auto before = upgrade_impact({host({}), silent}, {telling, told}, &map);
    const auto after = upgrade_impact({telling, told}, {host({}), silent}, &map);
    const auto both = impact_of(host({}), host({}), map);
    auto main_frame = host({.model = "gen15a", .vendor = "", .require = {"esan3", "zarch"}});
    main_frame.arch = "s390x";

    EXPECT_TRUE(both.comparable);
    EXPECT_EQ(both.machines_missing_after, std::nullopt);
    EXPECT_EQ(both.machines_missing_before, std::nullopt);
    EXPECT_THAT(both.advice, EndsWith("see the notes for the rest"));
    EXPECT_THAT(both.notes,
                ElementsAre(HasSubstr("machine types: not known, for the documents do not list"),
                            HasSubstr("TSC: not known, for the documents do not tell"),
                            HasSubstr("width not known, for the documents do not tell")));
    EXPECT_THAT(before.notes, Each(HasSubstr("the document before the change does not")));
    EXPECT_THAT(after.notes, Each(HasSubstr("the document after the change does not")));
    EXPECT_THAT(impact_of(main_frame, main_frame, map).notes, SizeIs(1)) << "facts of x86";
}

TEST(UpgradeImpactTest, SaysWhyTwoSidesCannotBeCompared) {
    const auto map = test::small_map();

    const auto unknown = impact_of(host({.model = "Newest"}), host({}), map);
    const auto other_machine = impact_of(host({}), host({.model = "Other", .vendor = "AMD"}), map);

    auto arm = host({});
    arm.arch = "aarch64";
    arm.host_model.reset();
    const auto other_arch = impact_of(host({.model = "Newest"}), arm, map);

    EXPECT_THAT(other_arch.advice,
                HasSubstr("the architecture changed from x86_64 to aarch64: this is another"));
    EXPECT_THAT(impact_of(host({.model = "Newest"}), host({.vendor = "AMD"}), map).advice,
                HasSubstr("vendor changed"))
        << "not the map's fault";
    EXPECT_FALSE(unknown.comparable);
    EXPECT_THAT(unknown.advice, HasSubstr("Newest"));
    EXPECT_FALSE(other_machine.comparable);
    EXPECT_THAT(other_machine.notes, IsEmpty());
    EXPECT_EQ(other_machine.machines_missing_after, std::nullopt);
    EXPECT_THAT(unknown.notes, SizeIs(3)) << "the machine is the same";
    EXPECT_THAT(other_machine.advice, HasSubstr("vendor changed"));
}

}  // namespace
}  // namespace scout::migration
