// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace scout::cli {

/// Text that is written while it is made: what is gathered is handed on whenever it has grown to a
/// piece. Once `write` takes no more, the rest is thrown away.
class TextSink {
public:
    using Write = std::function<bool(std::string_view)>;

    explicit TextSink(Write write);

    void add(std::string_view text);
    /// Hands on the rest; false: not everything could be written.
    [[nodiscard]] bool finish();
    /// More is of no use.
    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    void hand_on();

    Write write_;
    std::string gathered_;
    bool failed_ = false;
};

}  // namespace scout::cli
