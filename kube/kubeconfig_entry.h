// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace scout::kube {

/// What is wrong with a kubeconfig, one line each.
class FaultList {
public:
    void add(std::string fault);
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    /// All lines; the first twenty are told in full.
    [[nodiscard]] std::string text() const;

private:
    std::string lines_;
    std::size_t count_ = 0;
};

/// One mapping of a kubeconfig that reads its keys and notes every fault with file, entry and key.
/// An absent key, and one without a value, reads as empty.
class KubeconfigEntry {
public:
    /// `name` is how messages call it: "user 'admin'". The fault list must outlive the entry.
    KubeconfigEntry(std::filesystem::path file, std::string name, YAML::Node node,
                    FaultList& faults);

    [[nodiscard]] std::string text(const std::string& key) const;
    [[nodiscard]] bool flag(const std::string& key) const;
    /// A path; a relative one starts at the folder of the file that says it.
    [[nodiscard]] std::filesystem::path path(const std::string& key) const;
    /// The same, and the file must be readable now.
    [[nodiscard]] std::filesystem::path readable(const std::string& key) const;
    [[nodiscard]] std::string base64(const std::string& key) const;
    [[nodiscard]] std::vector<std::string> list(const std::string& key) const;
    [[nodiscard]] bool has(const std::string& key) const;
    /// What is under a key as it stands, or a null node.
    [[nodiscard]] YAML::Node node(const std::string& key) const;
    /// The mapping under a key, or an empty one.
    [[nodiscard]] KubeconfigEntry part(const std::string& key) const;
    [[nodiscard]] std::vector<KubeconfigEntry> parts(const std::string& key) const;
    /// Keys of this mapping; one that is no plain text is a fault.
    [[nodiscard]] std::vector<std::string> keys() const;

    void fault(std::string_view key, std::string_view what) const;
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

private:
    std::filesystem::path file_;
    std::string name_;
    YAML::Node node_;
    FaultList* faults_;
};

}  // namespace scout::kube
