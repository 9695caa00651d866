// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/probe_answer.h"

#include <string>

#include <gtest/gtest.h>

namespace scout::libvirt_glue {
namespace {

hypervisor::HostDocuments sample() {
    hypervisor::HostDocuments documents;
    documents.uri = "qemu:///embed?root=/var/lib/x";
    documents.virt_type = "qemu";
    documents.kvm_note = "/dev/kvm can't be opened: No such file or directory";
    documents.arch = "x86_64";
    documents.domain_capabilities = {{"x86_64", "q35", "<a b='\"'>\n</a>", true},
                                     {"x86_64", "pc", "<b/>", false}};
    documents.supported_features = "<cpu/>";
    documents.capabilities = "<capabilities/>";
    documents.libvirt_version = "9.0.0";
    documents.hypervisor_version = "7.2.22";
    documents.notes = {"machine type x left out"};
    return documents;
}

TEST(ProbeAnswerTest, CarriesAllDocuments) {
    EXPECT_EQ(parse_answer(format_answer(sample())).value(), sample());
}

TEST(ProbeAnswerTest, CarriesAnError) {
    const auto answer = parse_answer(format_answer(fail(Errc::refused, "no rights\nhere")));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::refused);
    EXPECT_EQ(answer.error().message, "no rights\nhere");
}

TEST(ProbeAnswerTest, RefusesAnAnswerCutOffAnywhere) {
    const auto whole = format_answer(sample());

    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto answer = parse_answer(whole.substr(0, size));
        ASSERT_FALSE(answer) << size;
        EXPECT_EQ(answer.error().code, Errc::invalid);
    }
}

TEST(ProbeAnswerTest, RefusesWhatIsNoAnswer) {
    for (const char* text : {"hello\n", "[]\n", "{}\n",
                             R"({"probe":2,"documents":{}})"
                             "\n",
                             R"({"probe":1})"
                             "\n",
                             R"({"probe":1,"documents":{}})"
                             "\n",
                             R"({"probe":1,"error":{}})"
                             "\n",
                             R"({"probe":1,"documents":[],"error":3})"
                             "\n"}) {
        const auto answer = parse_answer(text);
        ASSERT_FALSE(answer) << text;
        EXPECT_EQ(answer.error().code, Errc::invalid);
    }
    EXPECT_FALSE(parse_answer(std::string(100'000, '[') + "\n"));
}

}  // namespace
}  // namespace scout::libvirt_glue
