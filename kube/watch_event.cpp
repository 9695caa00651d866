// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/logging.h"

namespace scout::kube {
namespace {

/// A text that stays in the document and takes no room in the reader.
struct PlainText {
    std::string_view& target;
};

struct Cause {
    SharedText reason;
};

std::optional<WatchKind> kind_from(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, WatchKind>, 5> kinds{{
        {"ADDED", WatchKind::added},
        {"MODIFIED", WatchKind::modified},
        {"DELETED", WatchKind::deleted},
        {"BOOKMARK", WatchKind::bookmark},
        {"ERROR", WatchKind::error},
    }};
    const auto* const found = std::find_if(kinds.begin(), kinds.end(),
                                           [type](const auto& kind) { return kind.first == type; });
    return found == kinds.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace

[[nodiscard]] static Status read_json(JsonValue value, PlainText& target) {
    return value.plain_text().map([&target](std::string_view text) { target.target = text; });
}

[[nodiscard]] static Status read_json(JsonValue value, Cause& target) {
    return read_members(value, Field{"reason", target.reason});
}

Result<WatchEvent> parse_watch_line(JsonReader& reader, PaddedText line) {
    auto event = reader.parse(line);
    if (!event) {
        return fail(std::move(event.error()));
    }
    auto type = event->find("type");
    const auto name = type ? type->text() : fail(type.error());
    const auto kind = name ? kind_from(*name) : std::nullopt;
    if (!kind) {
        return fail(Errc::invalid,
                    "type: expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, "
                    "found " +
                        (name ? log_value(*name) : "no string"));
    }
    auto value = event->find("object");
    auto object = value ? value->object() : fail(value.error());
    if (!object) {
        return below("object", std::move(object.error()));
    }
    return WatchEvent{*kind, *object};
}

Result<ObjectIdentity> read_identity(JsonObject& object) {
    ObjectIdentity identity;
    PlainText space{identity.space};
    PlainText name{identity.name};
    PlainText uid{identity.uid};
    PlainText version{identity.version};
    // Not read(), which would walk through all that comes behind it, before the decoder does.
    auto metadata = object.find("metadata");
    if (!metadata) {
        return fail(std::move(metadata.error()));
    }
    auto done = read_members(*metadata, Field{"name", name}, Field{"namespace", space},
                             Field{"uid", uid}, Field{"resourceVersion", version});
    if (!done) {
        return below("metadata", std::move(done.error()));
    }
    if (identity.name.empty() || identity.uid.empty() || identity.version.empty()) {
        return fail(Errc::invalid,
                    "metadata: expected name, uid and resourceVersion, found name '" +
                        std::string{identity.name} + "', uid '" + std::string{identity.uid} +
                        "', resourceVersion '" + std::string{identity.version} + "'");
    }
    if (auto back = object.rewind(); !back) {
        return fail(std::move(back.error()));
    }
    return identity;
}

Result<Bookmark> read_bookmark(JsonObject& object) {
    Bookmark bookmark;
    std::string ends;
    auto done =
        object.read(Nested{"metadata", Field{"resourceVersion", bookmark.version},
                           Nested{"annotations", Field{"k8s.io/initial-events-end", ends}}});
    if (!done) {
        return fail(std::move(done.error()));
    }
    bookmark.ends_list = ends == "true";
    return bookmark;
}

Result<StreamError> read_stream_error(JsonObject& object) {
    std::int64_t code = 0;
    auto done = object.read(Field{"code", code});
    auto back = done ? object.rewind() : std::move(done);
    const auto body = back ? object.raw() : fail(std::move(back.error()));
    if (!body) {
        return fail(body.error());
    }
    return StreamError{.code = code > 0 && code < 1000 ? static_cast<unsigned>(code) : 0,
                       .body = std::string{*body}};
}

bool says_version_too_large(std::string body) {
    TextPool texts;
    JsonReader reader{texts};
    std::vector<Cause> causes;
    auto status = reader.parse(PaddedText::of(body));
    return status && status->read(Nested{"details", Field{"causes", causes}}) &&
           std::any_of(causes.begin(), causes.end(), [](const Cause& cause) {
               return cause.reason == "ResourceVersionTooLarge";
           });
}

}  // namespace scout::kube
