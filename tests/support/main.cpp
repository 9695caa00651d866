// SPDX-License-Identifier: Apache-2.0
// Runs the tests of a program. What failed is told once more at the end: of a long output, readers
// of logs often have no more than that.
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

constexpr std::size_t most_failures = 20;
constexpr std::size_t longest = 2000;

class Failures final : public testing::EmptyTestEventListener {
public:
    void OnTestStart(const testing::TestInfo& test) override {
        test_ = std::string{test.test_suite_name()} + "." + test.name();
    }
    void OnTestEnd(const testing::TestInfo& /*test*/) override { test_ = outside; }
    /// GoogleTest holds its lock meanwhile: it must not be asked anything.
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) {
            return;
        }
        auto text = test_;
        text += result.file_name() == nullptr ? std::string{}
                                              : std::string{" at "} + result.file_name() + ":" +
                                                    std::to_string(result.line_number());
        text += "\n" + std::string{result.message()}.substr(0, longest);
        failures_.push_back(std::move(text));
    }
    void tell() const {
        if (failures_.empty()) {
            return;
        }
        std::printf("\nWhat failed, once more (%zu):\n", failures_.size());
        for (std::size_t i = 0; i < failures_.size() && i < most_failures; ++i) {
            std::printf("* %s\n", failures_[i].c_str());
        }
        static_cast<void>(std::fflush(stdout));
    }

private:
    static constexpr const char* outside = "outside of tests";

    std::string test_ = outside;
    std::vector<std::string> failures_;
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    Failures failures;
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    listeners.Append(&failures);
    const int outcome = RUN_ALL_TESTS();
    listeners.Release(&failures);
    failures.tell();
    return outcome;
}
