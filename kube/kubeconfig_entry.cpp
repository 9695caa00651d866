// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig_entry.h"

#include <utility>

#include "base/base64.h"
#include "base/files.h"
#include "base/logging.h"

namespace scout::kube {
namespace {

constexpr std::size_t most_faults = 20;

std::string_view shape_of(const YAML::Node& node) {
    return node.IsSequence() ? "a list" : node.IsMap() ? "a mapping" : "one value";
}

}  // namespace

void FaultList::add(std::string fault) {
    if (++count_ <= most_faults) {
        lines_ += (lines_.empty() ? "" : "\n") + std::move(fault);
    }
}

std::string FaultList::text() const {
    return count_ <= most_faults
               ? lines_
               : lines_ + "\nand " + std::to_string(count_ - most_faults) + " more";
}

KubeconfigEntry::KubeconfigEntry(std::filesystem::path file, std::string name, YAML::Node node,
                                 FaultList& faults)
    : file_(std::move(file)), name_(std::move(name)), node_(node), faults_(&faults) {
    if (!node_.IsMap() && !node_.IsNull()) {
        fault("", "expected lines 'key: value'");
        node_.reset(YAML::Node{});
    }
}

void KubeconfigEntry::fault(std::string_view key, std::string_view what) const {
    std::string line = file_.string() + ": " + name_ + ": ";
    if (!key.empty()) {
        line += std::string{key} + ": ";
    }
    faults_->add(line + std::string{what});
}

YAML::Node KubeconfigEntry::node(const std::string& key) const {
    // A const node does not grow keys that are asked for.
    const YAML::Node& mapping = node_;
    const YAML::Node value = mapping.IsMap() ? mapping[key] : YAML::Node{};
    return value.IsDefined() ? value : YAML::Node{};
}

bool KubeconfigEntry::has(const std::string& key) const {
    return !node(key).IsNull();
}

std::string KubeconfigEntry::text(const std::string& key) const {
    const auto value = node(key);
    if (value.IsNull()) {
        return {};
    }
    if (!value.IsScalar()) {
        fault(key, "expected one value, found " + std::string{shape_of(value)});
        return {};
    }
    for (const char c : value.Scalar()) {
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') {
            fault(key, "expected plain text, found a control character");
            return {};
        }
    }
    return value.Scalar();
}

bool KubeconfigEntry::flag(const std::string& key) const {
    const auto value = text(key);
    if (!value.empty() && value != "true" && value != "false") {
        fault(key, "expected true or false, found " + log_value(value));
    }
    return value == "true";
}

std::filesystem::path KubeconfigEntry::path(const std::string& key) const {
    const auto value = text(key);
    return value.empty() ? std::filesystem::path{} : file_.parent_path() / value;
}

std::filesystem::path KubeconfigEntry::readable(const std::string& key) const {
    auto file = path(key);
    if (!file.empty()) {
        if (const auto content = read_file(file); !content) {
            fault(key, content.error().message);
        }
    }
    return file;
}

std::string KubeconfigEntry::base64(const std::string& key) const {
    auto bytes = base64_decode(text(key));
    if (!bytes) {
        fault(key, bytes.error().message);
        return {};
    }
    return *std::move(bytes);
}

std::vector<std::string> KubeconfigEntry::list(const std::string& key) const {
    const auto value = node(key);
    std::vector<std::string> entries;
    if (value.IsNull()) {
        return entries;
    }
    if (!value.IsSequence()) {
        // A scalar has no entries to go through: what it says would be lost without a word.
        fault(key, "expected a list of plain values, found " + std::string{shape_of(value)} +
                       "; write [a, b], or one '- value' a line");
        return entries;
    }
    for (const auto& entry : value) {
        if (!entry.IsScalar()) {
            fault(key, "expected a list of plain values, found " +
                           std::string{entry.IsNull() ? "nothing" : shape_of(entry)} + " in it");
            return {};
        }
        entries.push_back(entry.Scalar());
    }
    return entries;
}

KubeconfigEntry KubeconfigEntry::part(const std::string& key) const {
    return {file_, name_ + ": " + key, node(key), *faults_};
}

std::vector<KubeconfigEntry> KubeconfigEntry::parts(const std::string& key) const {
    const auto value = node(key);
    std::vector<KubeconfigEntry> entries;
    if (!value.IsNull() && !value.IsSequence()) {
        fault(key, "expected a list, found " + std::string{shape_of(value)});
        return entries;
    }
    for (const auto& entry : value) {
        entries.emplace_back(file_, name_ + ": " + key, entry, *faults_);
    }
    return entries;
}

std::vector<std::string> KubeconfigEntry::keys() const {
    std::vector<std::string> names;
    for (const auto& pair : node_) {
        if (pair.first.IsScalar()) {
            names.push_back(pair.first.Scalar());
        } else {
            fault("", "expected plain text for a key, found " +
                          std::string{pair.first.IsNull() ? "nothing" : shape_of(pair.first)});
        }
    }
    return names;
}

}  // namespace scout::kube
