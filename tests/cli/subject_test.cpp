// SPDX-License-Identifier: Apache-2.0
#include "cli/subject.h"

#include <string>

#include <gtest/gtest.h>

namespace scout::cli {
namespace {

TEST(SubjectTest, ReadsEveryForm) {
    const std::string uuid = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d";

    EXPECT_EQ(parse_subject("vm-7").value(),
              (Subject{.kind = SubjectKind::guest, .name = "vm-7", .node = ""}));
    EXPECT_EQ(parse_subject(uuid).value(),
              (Subject{.kind = SubjectKind::guest, .name = uuid, .node = ""}));
    EXPECT_EQ(parse_subject("guest/vm-7").value(),
              (Subject{.kind = SubjectKind::guest, .name = "vm-7", .node = ""}));
    EXPECT_EQ(parse_subject("guest/vm-7@n1.example").value(),
              (Subject{.kind = SubjectKind::guest, .name = "vm-7", .node = "n1.example"}));
    EXPECT_EQ(parse_subject("shop/web").value(),
              (Subject{.kind = SubjectKind::guest, .name = "shop/web", .node = ""}));
    EXPECT_EQ(parse_subject("guest/shop/web@n1").value(),
              (Subject{.kind = SubjectKind::guest, .name = "shop/web", .node = "n1"}));
    EXPECT_EQ(parse_subject("host-model@n1").value(),
              (Subject{.kind = SubjectKind::host_model, .name = "", .node = "n1"}));
    EXPECT_EQ(parse_subject("file:hosts/a b.xml").value(),
              (Subject{.kind = SubjectKind::file, .name = "hosts/a b.xml", .node = ""}));
}

TEST(SubjectTest, TellsVmisFromFiles) {
    for (const auto* text : {"shop/web", "ns-1/vm.a", "a/b"}) {
        EXPECT_TRUE(names_a_vmi(text)) << text;
    }
    for (const auto* text :
         {"web", "hosts/a.xml", "/etc/hosts", "./web", "../web", "shop/", "a/b/c", "Shop Web/x"}) {
        EXPECT_FALSE(names_a_vmi(text)) << text;
    }
}

TEST(SubjectTest, PartsAGuestFromItsNodeAtTheLastSign) {
    EXPECT_EQ(parse_subject("guest/me@home@n1").value(),
              (Subject{.kind = SubjectKind::guest, .name = "me@home", .node = "n1"}));
}

TEST(SubjectTest, RefusesWhatIsNoForm) {
    for (const std::string text :
         {"", "file:", "host-model@", "host-model@a/b", "host-model@-x", "guest/", "guest/@n1",
          "guest/vm@", "guest/vm@n 1", "vm@n1", "pod:vm", "a/b/c", "/a", "a/", "guest/a/b/c",
          "a\nb", "a\x1b[31m", "\xff", "guest/\xc3"}) {
        const auto subject = parse_subject(text);

        ASSERT_FALSE(subject) << text;
        EXPECT_EQ(subject.error().code, Errc::invalid) << text;
        EXPECT_NE(subject.error().message.find("host-model@NODE"), std::string::npos) << text;
        EXPECT_EQ(subject.error().message.find('\x1b'), std::string::npos) << text;
    }
}

TEST(SubjectTest, RefusesWhatIsTooLong) {
    EXPECT_TRUE(parse_subject(std::string(255, 'a')));
    EXPECT_FALSE(parse_subject(std::string(256, 'a')));
    EXPECT_TRUE(parse_subject("host-model@" + std::string(253, 'a')));
    EXPECT_FALSE(parse_subject("host-model@" + std::string(254, 'a')));
    EXPECT_TRUE(parse_subject("file:" + std::string(4096, 'a')));
    EXPECT_FALSE(parse_subject("file:" + std::string(4097, 'a')));

    const auto huge = parse_subject(std::string(std::size_t{1} << 20U, 'a'));
    ASSERT_FALSE(huge);
    EXPECT_LT(huge.error().message.size(), 1000U);
}

}  // namespace
}  // namespace scout::cli
