// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace scout::kube {

class JsonObject;

/// What names an object, as it stands in the document and valid as long as that.
struct ObjectIdentity {
    std::string_view space;
    std::string_view name;
    std::string_view uid;
    std::string_view version;
};

enum class ChangeKind : std::uint8_t { added, modified, deleted };

/// Where a reflector's findings go. Called on the loop thread; the objects are valid during the
/// call only.
class ObjectSink {
public:
    ObjectSink() = default;
    virtual ~ObjectSink() = default;
    ObjectSink(const ObjectSink&) = delete;
    ObjectSink& operator=(const ObjectSink&) = delete;
    ObjectSink(ObjectSink&&) = delete;
    ObjectSink& operator=(ObjectSink&&) = delete;

    /// A list begins; it takes effect as a whole at list_ended(). `doubted`: the server's history
    /// may be another one than before, so that equal versions do not mean equal objects.
    virtual void list_began(bool doubted) = 0;
    /// An object of the list; a streaming list may also change and delete what it told before.
    virtual void listed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) = 0;
    /// What was not listed is gone.
    virtual void list_ended() = 0;
    /// The list broke off: as if it had not begun.
    virtual void list_dropped() = 0;

    virtual void changed(ChangeKind kind, const ObjectIdentity& identity, JsonObject& object) = 0;
    /// Something that came in the place of an object and cannot even be told which it is.
    virtual void unreadable(const Error& error) = 0;
};

}  // namespace scout::kube
