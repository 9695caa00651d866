// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "base/edit_distance.h"

namespace scout::daemon {
namespace {

std::string place(std::string_view file, const YAML::Mark& mark) {
    std::string text{file};
    if (!mark.is_null()) {
        text += ":" + std::to_string(mark.line + 1);
    }
    return text;
}

/// Text of the value, or what is wrong with its shape.
Result<std::vector<std::string>> entries_of(const YAML::Node& value, SettingKind kind) {
    if (value.IsScalar()) {
        return std::vector{value.Scalar()};
    }
    if (kind != SettingKind::list) {
        return fail(Errc::invalid, value.IsNull() ? "expected a value, found nothing; remove the "
                                                    "key to keep the default"
                                                  : "expected one value, found a list or mapping");
    }
    std::vector<std::string> entries;
    if (!value.IsSequence()) {
        return fail(Errc::invalid, "expected a list of values");
    }
    for (const auto& entry : value) {
        if (!entry.IsScalar()) {
            return fail(Errc::invalid, "expected a list of plain values");
        }
        entries.push_back(entry.Scalar());
    }
    return entries;
}

/// Reads the pairs of one mapping.
class MappingReader {
public:
    MappingReader(std::string_view file, const SettingList& list, Origins& origins)
        : file_(file), list_(list), origins_(origins) {}

    void read(const YAML::Node& key, const YAML::Node& value) {
        const std::string where = place(file_, key.Mark());
        if (!key.IsScalar()) {
            faults_.push_back({"", where + ": expected a key, found a list or mapping"});
            return;
        }
        const std::string name = log_value(key.Scalar());
        const auto setting = std::find_if(list_.begin(), list_.end(), [&key](const auto& known) {
            return known.key == key.Scalar();
        });
        if (setting == list_.end()) {
            const auto near = nearest_key(key.Scalar(), list_);
            faults_.push_back(
                {"", where + ": unknown key '" + name + "'" +
                         (near.empty() ? "" : "; the nearest known key is '" + near + "'")});
            return;
        }
        if (!seen_.insert(setting->key).second) {
            faults_.push_back({setting->key, where + ": key '" + name + "' is given twice"});
            return;
        }
        auto done = entries_of(value, setting->kind).and_then(setting->read);
        if (!done) {
            faults_.push_back({setting->key, where + ": " + name + ": " + done.error().message});
            return;
        }
        origins_[setting->key] = where;
    }

    [[nodiscard]] Faults take() { return std::move(faults_); }

private:
    std::string_view file_;
    const SettingList& list_;
    Origins& origins_;
    std::set<std::string, std::less<>> seen_;
    Faults faults_;
};

/// The one document of the text. yaml-cpp bounds the nesting itself and throws.
Result<YAML::Node> load_mapping(std::string_view text, std::string_view file) {
    try {
        const auto documents = YAML::LoadAll(std::string{text});
        if (documents.size() > 1) {
            return fail(Errc::invalid, std::string{file} + ": expected one YAML document, found " +
                                           std::to_string(documents.size()));
        }
        YAML::Node root = documents.empty() ? YAML::Node{} : documents.front();
        if (!root.IsMap() && !root.IsNull()) {
            return fail(Errc::invalid, place(file, root.Mark()) + ": expected lines 'key: value'");
        }
        return root;
    } catch (const YAML::Exception& error) {
        return fail(Errc::invalid, place(file, error.mark) + ": not YAML: " + error.msg);
    }
}

}  // namespace

std::string nearest_key(std::string_view key, const SettingList& list) {
    std::vector<std::string> known;
    for (const auto& setting : list) {
        known.push_back(setting.key);
    }
    return nearest(key, known);
}

Faults read_config_text(std::string_view text, std::string_view file_name, const SettingList& list,
                        Origins& origins) {
    if (text.size() > config_limit) {
        return {{"",
                 std::string{file_name} + ": expected at most " + std::to_string(config_limit) +
                     " bytes, found " + std::to_string(text.size()),
                 true}};
    }
    const auto root = load_mapping(text, file_name);
    if (!root) {
        return {{"", root.error().message, true}};
    }
    MappingReader reader(file_name, list, origins);
    for (const auto& pair : *root) {
        reader.read(pair.first, pair.second);
    }
    return reader.take();
}

}  // namespace scout::daemon
