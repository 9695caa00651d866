// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "kube/json.h"
#include "kube/objects/vmi.h"

/// What of a VMI's devices and volumes matters to its move.
namespace scout::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Vmi vmi_of(const std::string& devices, const std::string& volumes, const std::string& status) {
    TextPool texts;
    JsonReader reader{texts};
    std::string text = R"({"metadata":{"name":"a"},"spec":{"domain":{"devices":)" + devices +
                       R"(},"volumes":)" + volumes + R"(},"status":)" + status + "}";
    auto object = reader.parse(PaddedText::of(text));
    if (!object) {
        ADD_FAILURE() << object.error().message;
        return {};
    }
    auto vmi = decode_vmi(*object);
    EXPECT_TRUE(vmi) << vmi.error().message;
    return vmi ? *std::move(vmi) : Vmi{};
}

TEST(VmiDevicesTest, NamesTheDisksThatAMigrationCopies) {
    const auto vmi = vmi_of(
        R"({"disks":[{"name":"root","disk":{"bus":"virtio"}},{"name":"data","disk":{}},
            {"name":"image","disk":{}},{"name":"iso","cdrom":{}},{"name":"seed","disk":{}},
            {"name":"moved","disk":{}}]})",
        R"([{"name":"root","dataVolume":{"name":"r"}},{"name":"data","emptyDisk":{"capacity":"100Gi"}},
            {"name":"image","containerDisk":{"image":"i"}},{"name":"iso","containerDisk":{"image":"j"}},
            {"name":"seed","cloudInitNoCloud":{"userData":"x"}},
            {"name":"dump","emptyDisk":{"capacity":"1Gi"}},
            {"name":"moved","persistentVolumeClaim":{"claimName":"new"}}])",
        R"({"migrationMethod":"BlockMigration","migratedVolumes":[{"volumeName":"moved",
            "sourcePVCInfo":{"claimName":"old","requests":{"storage":"20Gi"},
                             "capacity":{"storage":"21Gi"}}}]})");
    EXPECT_THAT(vmi.copied_disks,
                ElementsAre(CopiedDisk{SharedText{"data"}, SharedText{"100Gi"}, false},
                            CopiedDisk{SharedText{"image"}, SharedText{}, false},
                            CopiedDisk{SharedText{"moved"}, SharedText{"20Gi"}, true}));
    EXPECT_FALSE(vmi.copies_unnamed);
}

TEST(VmiDevicesTest, BlockMigrationWithoutADiskForItIsKnownAsThat) {
    const std::string shared = R"([{"name":"root","dataVolume":{"name":"r"}}])";
    const std::string root = R"({"disks":[{"name":"root","disk":{}}]})";
    EXPECT_FALSE(vmi_of(root, shared, R"({"migrationMethod":"LiveMigration"})").copies_unnamed);
    EXPECT_TRUE(vmi_of(root, shared, R"({"migrationMethod":"BlockMigration"})").copies_unnamed);
    const auto seeded = vmi_of(R"({"disks":[{"name":"seed","disk":{}}]})",
                               R"([{"name":"seed","cloudInitNoCloud":{}}])",
                               R"({"migrationMethod":"BlockMigration"})");
    EXPECT_FALSE(seeded.copies_unnamed) << "a small one, and that is all";
    EXPECT_THAT(seeded.copied_disks, IsEmpty());
    const auto dumped = vmi_of(root,
                               R"([{"name":"root","dataVolume":{"name":"r"}},
                                   {"name":"dump","memoryDump":{"claimName":"d"}}])",
                               R"({"migrationMethod":"BlockMigration"})");
    EXPECT_FALSE(dumped.copies_unnamed) << "it is no disk";
    const auto stays = vmi_of(root, shared,
                              R"({"migrationMethod":"BlockMigration","conditions":
                                  [{"type":"LiveMigratable","status":"False"}]})");
    EXPECT_FALSE(stays.copies_unnamed) << "nothing is copied";
}

TEST(VmiDevicesTest, DevicesOfTheHostAreToldFromOthers) {
    const auto holds = [](const char* devices) {
        return vmi_of(devices, "[]", "{}").holds_devices;
    };
    EXPECT_FALSE(holds(R"({"interfaces":[{"name":"a","masquerade":{}}],"disks":[]})"));
    EXPECT_TRUE(holds(R"({"interfaces":[{"name":"a","masquerade":{}},{"name":"b","sriov":{}}]})"));
    EXPECT_TRUE(holds(R"({"gpus":[{"name":"g"}]})"));
    EXPECT_TRUE(holds(R"({"hostDevices":[{"name":"h"}]})"));
}

}  // namespace
}  // namespace scout::kube
