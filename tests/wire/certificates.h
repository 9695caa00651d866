// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

    /// A certificate for `common_name` with the DNS name `dns_name` (left out if empty) and the
    /// address 127.0.0.1, with its key, all in PEM form.
    struct Pem {
        std::string ca;
        std::string certificate;
        std::string key;
    };
    [[nodiscard]] Pem make(const std::string& common_name, const std::string& dns_name) const;

    struct Spec {
        std::string common_name;
        std::string names;  ///< as OpenSSL writes them: "IP:127.0.0.1,DNS:a"
        std::chrono::seconds valid_from = -std::chrono::hours{24};  ///< from now
        std::chrono::seconds valid_until = std::chrono::hours{24};
    };
    [[nodiscard]] Pem make(const Spec& spec) const;

    /// The same as files: ca.pem, certificate.pem and key.pem in the folder.
    void issue(const std::filesystem::path& folder, const std::string& common_name,
               const std::string& dns_name) const;

private:
    struct Material;
    std::unique_ptr<Material> material_;
};

}  // namespace scout::test
