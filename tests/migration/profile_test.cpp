// SPDX-License-Identifier: Apache-2.0
#include "migration/profile.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/profiles.h"

namespace scout::migration {
namespace {

TEST(ProfileTest, EqualProfilesShareADigestAndEveryFieldChangesIt) {
    const auto base = test::host({.require = {"a", "b"}, .usable = {"M"}, .machines = {"q35"}});
    std::vector<Profile> variants(10, base);
    variants[1].vendor = "AMD";
    variants[2].host_model->require = {"ab"};
    variants[3].host_model->disable = {"b"};
    variants[4].models[0].usable = Usable::no;
    variants[5].supported_listed = true;
    variants[6].machines = {};
    variants[7].host_model.reset();
    variants[8].host_model->maxphysaddr = MaxPhysAddr{.mode = "emulate", .bits = 46, .limit = {}};
    variants[9].launch_security = {"sev"};

    std::set<std::string> digests;
    for (const auto& variant : variants) {
        digests.insert(digest(variant));
    }

    EXPECT_EQ(digests.size(), variants.size());
    EXPECT_EQ(digest(base), digest(Profile{base}));
    EXPECT_EQ(digest(base).size(), 64U);
}

}  // namespace
}  // namespace scout::migration
