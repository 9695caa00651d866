// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/library.h"

#include <gtest/gtest.h>

namespace scout::libvirt_glue {
namespace {

TEST(LibraryTest, SaysWhichFileIsMissingAndWhatToInstall) {
    const auto loaded = load_library("libnowhere.so.0");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, Errc::unavailable);
    EXPECT_NE(loaded.error().message.find("libnowhere.so.0"), std::string::npos);
    EXPECT_NE(loaded.error().message.find("libvirt0"), std::string::npos);
}

TEST(LibraryTest, IsNotTakenWithoutAFunctionThatIsCalled) {
    const auto loaded = load_library("libc.so.6");
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find("vir"), std::string::npos) << loaded.error().message;
}

TEST(LibraryTest, HasEachFunctionOnceItIsPrepared) {
    const auto prepared = prepare_library();
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_NE(libvirt().virConnectOpen, nullptr);
    EXPECT_TRUE(prepare_library()) << "a second time";
}

}  // namespace
}  // namespace scout::libvirt_glue
