// SPDX-License-Identifier: Apache-2.0
#include "pressure/kubelet_fields.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <system_error>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "base/logging.h"

namespace scout::pressure {
namespace {

using Texts = migration::KubeletEvictionFields::Texts;

constexpr std::size_t signals_limit = 64;
constexpr std::size_t priorities_limit = 64;
constexpr std::size_t words_limit = 64;

std::string shown(const YAML::Node& node) {
    if (node.IsScalar()) {
        return "found '" + log_value(node.Scalar().substr(0, 60)) + "'";
    }
    return node.IsSequence() ? "found a list" : node.IsMap() ? "found a mapping" : "found nothing";
}

Result<std::int64_t> whole(const YAML::Node& node) {
    if (node.IsScalar()) {
        const auto& text = node.Scalar();
        std::int64_t value = 0;
        const auto* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, value);
        if (error == std::errc{} && end == last) {
            return value;
        }
    }
    return fail(Errc::invalid, "expected a whole number, " + shown(node));
}

/// Reads the keys of one mapping, and keeps the first thing that is wrong.
class FieldReader {
public:
    explicit FieldReader(const YAML::Node& mapping) {
        for (const auto& pair : mapping) {
            if (!pair.first.IsScalar()) {
                fault("", "expected a key, " + shown(pair.first));
            } else if (!values_.emplace(pair.first.Scalar(), pair.second).second) {
                fault(pair.first.Scalar(), "is given twice");
            }
        }
    }

    /// A mapping of texts is merged key by key; null takes one away.
    void read(const char* key, Texts& into) {
        const auto* node = value_of(key, into);
        if (node == nullptr) {
            return;
        }
        if (!node->IsMap() || node->size() > signals_limit) {
            fault(key, "expected a mapping of at most " + std::to_string(signals_limit) +
                           " signals, " + shown(*node));
            return;
        }
        for (const auto& pair : *node) {
            if (!pair.first.IsScalar() || !(pair.second.IsScalar() || pair.second.IsNull())) {
                fault(key, "expected lines 'signal: value', " + shown(pair.second));
            } else if (pair.second.IsNull()) {
                into.erase(pair.first.Scalar());
            } else {
                into[pair.first.Scalar()] = pair.second.Scalar();
            }
        }
    }

    void read(const char* key, std::optional<Texts>& into) {
        if (value_of(key, into) == nullptr) {
            return;
        }
        auto texts = into.value_or(Texts{});
        read(key, texts);
        into = std::move(texts);
    }

    void read(const char* key, std::string& into) {
        const auto* node = value_of(key, into);
        if (node == nullptr) {
            return;
        }
        if (!node->IsScalar()) {
            fault(key, "expected a value, " + shown(*node));
            return;
        }
        into = node->Scalar();
    }

    void read(const char* key, std::optional<std::int64_t>& into) {
        const auto* node = value_of(key, into);
        if (node == nullptr) {
            return;
        }
        const auto value = whole(*node);
        if (!value) {
            fault(key, value.error().message);
            return;
        }
        into = *value;
    }

    void read(const char* key, bool& into) {
        std::string text = into ? "true" : "false";
        read(key, text);
        if (!text.empty() && text != "true" && text != "false") {
            fault(key, "expected true or false, found '" + log_value(text.substr(0, 60)) + "'");
        }
        into = text == "true";
    }

    void read(const char* key, std::vector<migration::ShutdownPriority>& into) {
        const auto* node = value_of(key, into);
        if (node == nullptr) {
            return;
        }
        into.clear();
        if (!node->IsSequence() || node->size() > priorities_limit) {
            fault(key, "expected a list of at most " + std::to_string(priorities_limit) +
                           " priorities, " + shown(*node));
            return;
        }
        for (const auto& entry : *node) {
            const auto priority = entry.IsMap() ? whole(entry["priority"]) : whole(entry);
            const auto grace =
                entry.IsMap() ? whole(entry["shutdownGracePeriodSeconds"]) : whole(entry);
            if (!priority || !grace || *grace < 0) {
                fault(key,
                      "expected entries of a priority and shutdownGracePeriodSeconds, both whole "
                      "numbers, " +
                          shown(entry));
                return;
            }
            into.push_back({.priority = *priority, .grace = std::chrono::seconds{*grace}});
        }
    }

    void read(const char* key, std::optional<std::vector<std::string>>& into) {
        const auto* node = value_of(key, into);
        if (node == nullptr) {
            return;
        }
        auto& words = into.emplace();
        if (!node->IsSequence() || node->size() > words_limit) {
            fault(key, "expected a list of at most " + std::to_string(words_limit) + " words, " +
                           shown(*node));
            return;
        }
        for (const auto& entry : *node) {
            if (!entry.IsScalar()) {
                fault(key, "expected words, " + shown(entry));
                return;
            }
            words.push_back(entry.Scalar());
        }
    }

    void expect(const char* key, std::string_view value) {
        std::string found;
        read(key, found);
        if (found != value) {
            fault(key, "expected " + std::string{value} + ", found '" +
                           log_value(found.substr(0, 60)) + "'");
        }
    }

    [[nodiscard]] Status outcome() && {
        return error_ ? Status{fail(std::move(*error_))} : Status{};
    }

private:
    /// Of a key that is there and not null; null takes back what was read before.
    template <class T>
    [[nodiscard]] const YAML::Node* value_of(const char* key, T& into) const {
        const auto found = values_.find(std::string_view{key});
        if (found == values_.end()) {
            return nullptr;
        }
        if (found->second.IsNull()) {
            into = T{};
            return nullptr;
        }
        return &found->second;
    }
    void fault(std::string_view key, std::string text) {
        if (!error_) {
            error_ = Error{.code = Errc::invalid, .message = std::move(text)}.within(
                log_value(key.substr(0, 60)));
        }
    }

    std::map<std::string, YAML::Node, std::less<>> values_;
    std::optional<Error> error_;
};

Status read_fields(const YAML::Node& root, KubeletFields& fields) {
    FieldReader reader(root);
    reader.expect("kind", "KubeletConfiguration");
    reader.expect("apiVersion", "kubelet.config.k8s.io/v1beta1");
    auto& eviction = fields.eviction;
    reader.read("evictionHard", eviction.hard);
    reader.read("evictionSoft", eviction.soft);
    reader.read("evictionSoftGracePeriod", eviction.soft_grace);
    reader.read("evictionMinimumReclaim", eviction.minimum_reclaim);
    reader.read("evictionMaxPodGracePeriod", eviction.max_pod_grace);
    reader.read("mergeDefaultEvictionSettings", eviction.merge_defaults);
    reader.read("enforceNodeAllocatable", eviction.enforced);
    reader.read("shutdownGracePeriod", fields.shutdown_total);
    reader.read("shutdownGracePeriodCriticalPods", fields.shutdown_critical);
    reader.read("shutdownGracePeriodByPodPriority", fields.shutdown_by_priority);
    reader.read("cgroupRoot", fields.cgroup_root);
    return std::move(reader).outcome();
}

}  // namespace

Status apply_kubelet_file(const KubeletFile& file, KubeletFields& fields) {
    if (file.text.size() > kubelet_file_limit) {
        return fail(Errc::invalid, file.name + ": expected at most " +
                                       std::to_string(kubelet_file_limit) + " bytes, found " +
                                       std::to_string(file.text.size()));
    }
    try {
        const auto root = YAML::Load(file.text);
        if (!root.IsMap()) {
            return fail(Errc::invalid,
                        file.name + ": expected a KubeletConfiguration, " + shown(root));
        }
        auto read = read_fields(root, fields);
        return read ? read : fail(std::move(read.error()).within(file.name));
    } catch (const YAML::Exception& error) {
        return fail(Errc::invalid, file.name + ": not YAML, line " +
                                       std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
}

}  // namespace scout::pressure
