// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <sys/types.h>

namespace scout::bench {

/// A real aggregator as a child process, with TLS on loopback and its state in the folder, which
/// holds server/ca.pem, server/certificate.pem and server/key.pem. Ended with the object.
class ChildAggregator {
public:
    explicit ChildAggregator(const std::filesystem::path& folder);
    ~ChildAggregator();
    ChildAggregator(const ChildAggregator&) = delete;
    ChildAggregator& operator=(const ChildAggregator&) = delete;
    ChildAggregator(ChildAggregator&&) = delete;
    ChildAggregator& operator=(ChildAggregator&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Bytes that are resident now.
    [[nodiscard]] std::size_t resident() const;

private:
    std::uint16_t port_;
    pid_t process_ = -1;
};

}  // namespace scout::bench
