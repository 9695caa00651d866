// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "kube/json.h"

// Includes kube/json.h, a large header: for sources only.

namespace scout::kube {

/// One object by its decoder, where there is one text and not a stream of them. The text gets room
/// at its end (PaddedText). Errors: invalid, with the path of what is wrong.
template <class T>
[[nodiscard]] Result<T> decode_text(std::string& text, Result<T> (*decoder)(JsonObject&)) {
    TextPool texts;
    JsonReader reader{texts};
    auto object = reader.parse(PaddedText::of(text));
    return object ? decoder(*object) : fail(std::move(object.error()));
}

/// What another decoder makes of an object that is still to be read: from a copy of its text, for
/// no text can be read twice.
template <class T>
[[nodiscard]] Result<T> decode_aside(JsonObject& object, Result<T> (*decoder)(JsonObject&)) {
    auto raw = object.raw();
    if (!raw) {
        return fail(std::move(raw.error()));
    }
    std::string text{*raw};
    if (auto again = object.rewind(); !again) {
        return fail(std::move(again.error()));
    }
    return decode_text(text, decoder);
}

}  // namespace scout::kube
