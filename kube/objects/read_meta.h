// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/json.h"
#include "kube/objects/level_demands.h"
#include "kube/objects/meta.h"

// Shared by the decoders' sources.

namespace scout::kube {

struct Taint;

[[nodiscard]] Status read_json(JsonValue value, Condition& target);
[[nodiscard]] Status read_json(JsonValue value, PhaseTime& target);
[[nodiscard]] Status read_json(JsonValue value, Taint& target);

/// Keeps the annotations that are ours; `other` is given each other key and its value, and says
/// whether that is fine.
template <class Other>
[[nodiscard]] Status read_annotations(JsonValue value, Labels& ours, const Other& other) {
    std::vector<Labels::Entry> entries;
    auto done = read_map(value, [&entries, &other](std::string_view key, JsonValue item) -> Status {
        if (!key.starts_with(our_annotations)) {
            return other(key, item);
        }
        auto& entry = entries.emplace_back(item.texts().get(key), SharedText{});
        return read_json(item, entry.second);
    });
    if (done) {
        ours = Labels{std::move(entries)};
    }
    return done;
}

/// Annotations of which only ours are kept.
struct OurAnnotations {
    Labels& target;
};
[[nodiscard]] Status read_json(JsonValue value, OurAnnotations& target);

/// Only the keys of a map, whatever the values are.
struct Keys {
    std::vector<SharedText>& target;
};
[[nodiscard]] Status read_json(JsonValue value, Keys& target);

/// An object as it stands in the document.
struct RawObject {
    std::string& target;
};
[[nodiscard]] Status read_json(JsonValue value, RawObject& target);

[[nodiscard]] Status read_json(JsonValue value, PreferredLevel& target);

/// An object that has the demands on levels among its members, and more of it.
template <class... More>
[[nodiscard]] Status read_with_demands(JsonValue value, LevelDemands& demands,
                                       const More&... more) {
    return read_members(value, Field{"requireHostModelMigratabilityLevel", demands.required},
                        Field{"preferedHostModelMigratabilityLevel", demands.prefered},
                        Field{"preferredHostModelMigratabilityLevel", demands.preferred}, more...);
}

/// The member "metadata" with what names the object, and more of it.
template <class... More>
[[nodiscard]] auto metadata(ObjectMeta& meta, More... more) {
    return Nested{"metadata",
                  Field{"name", meta.name},
                  Field{"namespace", meta.space},
                  Field{"uid", meta.uid},
                  Field{"resourceVersion", meta.version},
                  more...};
}

/// The decoded object, or where it was wrong.
template <class Object>
[[nodiscard]] Result<Object> decoded(Object object, Status status) {
    if (!status) {
        return fail(std::move(status.error()));
    }
    return object;
}

}  // namespace scout::kube
