// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace scout::test {

/// A certificate authority of one test; its keys live in memory, its files where asked.
class Authority {
public:
    explicit Authority(const std::string& name);
    ~Authority();
    Authority(const Authority&) = delete;
    Authority& operator=(const Authority&) = delete;
    Authority(Authority&&) = delete;
    Authority& operator=(Authority&&) = delete;

    /// Writes ca.pem, certificate.pem and key.pem into the folder: a certificate for `common_name`
    /// with the DNS name `dns_name` (left out if empty) and the address 127.0.0.1.
    void issue(const std::filesystem::path& folder, const std::string& common_name,
               const std::string& dns_name) const;

private:
    struct Material;
    std::unique_ptr<Material> material_;
};

}  // namespace scout::test
