// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/json.h"
#include "kube/object_sink.h"
#include "kube/padded_text.h"

// What the lines of a watch say, before anybody decodes an object. For sources only: brings
// simdjson along.

namespace scout::kube {

enum class WatchKind : std::uint8_t { added, modified, deleted, bookmark, error };

struct WatchEvent {
    WatchKind kind;
    JsonObject object;  ///< valid as JsonReader::parse() says
};

/// Errors: invalid (no watch event, or of a type that nobody knows).
[[nodiscard]] Result<WatchEvent> parse_watch_line(JsonReader& reader, PaddedText line);

/// Leaves the object at its first member. Errors: invalid (no name, uid or version).
[[nodiscard]] Result<ObjectIdentity> read_identity(JsonObject& object);

struct Bookmark {
    std::string version;
    bool ends_list = false;  ///< all that was there when the streaming list began has been sent
};
[[nodiscard]] Result<Bookmark> read_bookmark(JsonObject& object);

/// What an ERROR event carries in the place of an answer.
struct StreamError {
    unsigned code = 0;  ///< as of HTTP; 0 if it says none
    std::string body;   ///< the Status object
};
[[nodiscard]] Result<StreamError> read_stream_error(JsonObject& object);

/// Whether a Status says that the asked version is newer than the server has seen.
[[nodiscard]] bool says_version_too_large(std::string body);

}  // namespace scout::kube
