// SPDX-License-Identifier: Apache-2.0
#include "migration/quantity.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scout::migration {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t most = 9'223'372'036'854'775'807;

struct Row {
    std::string text;
    std::uint64_t down;
    std::uint64_t up;
};
void PrintTo(const Row& row, std::ostream* out) {
    *out << row.text;
}

class QuantityTest : public testing::TestWithParam<Row> {};

TEST_P(QuantityTest, IsReadAsTheApiServerReadsIt) {
    const auto quantity = Quantity::parse(GetParam().text);

    ASSERT_TRUE(quantity) << quantity.error().message;
    EXPECT_EQ(quantity->rounded_down(), GetParam().down);
    EXPECT_EQ(quantity->rounded_up(), GetParam().up);
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, QuantityTest,
    testing::Values(Row{"0", 0, 0}, Row{"000", 0, 0}, Row{"+7", 7, 7}, Row{"1.", 1, 1},
                    Row{".5", 0, 1}, Row{"1.0", 1, 1}, Row{"64Mi", 67'108'864, 67'108'864},
                    Row{"64M", 64'000'000, 64'000'000}, Row{"1.4Mi", 1'468'006, 1'468'007},
                    Row{"5.9999Mi", 6'291'351, 6'291'352}, Row{"217Ki", 222'208, 222'208},
                    Row{"500m", 0, 1}, Row{"1500m", 1, 2}, Row{"1n", 0, 1},
                    Row{"0.000000953674316407Mi", 1, 2}, Row{"0.5Ei", 1ULL << 59U, 1ULL << 59U},
                    Row{"1e3", 1000, 1000}, Row{"1E3", 1000, 1000}, Row{"15e-1", 1, 2},
                    Row{"1e+2", 100, 100},
                    Row{"2E", 2'000'000'000'000'000'000, 2'000'000'000'000'000'000}));

INSTANTIATE_TEST_SUITE_P(TooLarge, QuantityTest,
                         testing::Values(Row{"9223372036854775807", most, most},
                                         Row{"9223372036854775808", most, most},
                                         Row{"8Ei", most, most},
                                         Row{"99999999999999999999999999", most, most},
                                         Row{"1e400", most, most}, Row{"1e-400", 0, 0}));

class NoQuantityTest : public testing::TestWithParam<std::string> {};

TEST_P(NoQuantityTest, IsRefusedWithWhatIsRight) {
    const auto quantity = Quantity::parse(GetParam());

    ASSERT_FALSE(quantity);
    EXPECT_EQ(quantity.error().code, Errc::invalid);
    EXPECT_THAT(quantity.error().message, HasSubstr("expected a quantity"));
    EXPECT_THAT(quantity.error().message, HasSubstr("'" + GetParam().substr(0, 40)));
    EXPECT_LT(quantity.error().message.size(), 250U);
}

INSTANTIATE_TEST_SUITE_P(Texts, NoQuantityTest,
                         testing::Values("", "-1", "+", ".", "64MB", "64 Mi", "Mi", "1,5Gi", "0x10",
                                         "1e", "1e1.5", "1e99999999999", "--1", "+-1", "1Mi ",
                                         "64mi", "∞", std::string(100'000, 'x')));

}  // namespace
}  // namespace scout::migration
