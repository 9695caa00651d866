// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/types.h>

namespace scout::bench {

/// How agents reach it.
enum class Way : std::uint8_t {
    tls,          ///< on loopback
    unix_socket,  ///< in plaintext
};

/// A real aggregator as a child process with its state in the folder, which for TLS holds
/// server/ca.pem, server/certificate.pem and server/key.pem. Ended with the object.
class ChildAggregator {
public:
    explicit ChildAggregator(const std::filesystem::path& folder, Way way = Way::tls);
    ~ChildAggregator();
    ChildAggregator(const ChildAggregator&) = delete;
    ChildAggregator& operator=(const ChildAggregator&) = delete;
    ChildAggregator(ChildAggregator&&) = delete;
    ChildAggregator& operator=(ChildAggregator&&) = delete;

    /// For gRPC.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    /// Bytes that are resident now.
    [[nodiscard]] std::size_t resident() const;
    /// That it has used since its start.
    [[nodiscard]] double cpu_seconds() const;
    /// Where questions about the fleet are answered.
    [[nodiscard]] const std::string& query_address() const noexcept { return query_address_; }

private:
    std::string address_;
    std::string query_address_;
    pid_t process_ = -1;
};

}  // namespace scout::bench
