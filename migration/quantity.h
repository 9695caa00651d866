// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"

namespace scout::migration {

/// A Kubernetes resource.Quantity that is not negative: "64Mi", "1.5G", "500m", "1e3". Exact to
/// 10⁻¹⁸, what is less is left out; like the API server's, at most 2⁶³ − 1. Pure; any thread.
class Quantity {
public:
    constexpr Quantity() = default;
    constexpr explicit Quantity(std::uint64_t whole) : whole_(whole) {}

    /// Errors: invalid, with what is wrong and what is right.
    [[nodiscard]] static Result<Quantity> parse(std::string_view text);

    [[nodiscard]] constexpr std::uint64_t rounded_down() const noexcept { return whole_; }
    [[nodiscard]] constexpr std::uint64_t rounded_up() const noexcept {
        return whole_ + (part_ != 0 ? 1 : 0);
    }
    /// As the scheduler counts CPUs; at most what 64 bits hold.
    [[nodiscard]] constexpr std::uint64_t thousandths_rounded_up() const noexcept {
        constexpr std::uint64_t thousand = 1000;
        constexpr std::uint64_t parts_in_thousandth = 1'000'000'000'000'000;
        const auto behind =
            part_ / parts_in_thousandth + (part_ % parts_in_thousandth != 0 ? 1 : 0);
        return whole_ > (std::numeric_limits<std::uint64_t>::max() - behind) / thousand
                   ? std::numeric_limits<std::uint64_t>::max()
                   : whole_ * thousand + behind;
    }
    [[nodiscard]] constexpr bool is_zero() const noexcept { return whole_ == 0 && part_ == 0; }

    friend constexpr bool operator==(const Quantity&, const Quantity&) = default;

private:
    [[nodiscard]] static Quantity decimal(std::string_view whole, std::string_view behind) noexcept;
    void twice() noexcept;
    void ten_times() noexcept;
    void tenth() noexcept;
    void limit() noexcept;

    std::uint64_t whole_ = 0;
    std::uint64_t part_ = 0;  ///< in 10⁻¹⁸
};

}  // namespace scout::migration
