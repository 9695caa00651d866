// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "kube/api_error.h"
#include "kube/json.h"
#include "kube/list_document.h"

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

/// The same of what a call answered.
template <class T>
[[nodiscard]] ApiResult<T> decode_answer(ApiResult<std::string> answer,
                                         Result<T> (*decoder)(JsonObject&)) {
    if (!answer) {
        return tl::unexpected(std::move(answer.error()));
    }
    auto object = decode_text(*answer, decoder);
    if (!object) {
        return tl::unexpected(ApiError{.error = std::move(object.error())});
    }
    return std::move(*object);
}

/// What a decoder makes of each item of a list, in their order. Visit: (Result<T>) -> Status; the
/// first error ends it. Errors beside: invalid, if it is no list.
template <class T, class Visit>
[[nodiscard]] Status decode_items(std::string& list, Result<T> (*decoder)(JsonObject&),
                                  Visit visit) {
    const auto parts = split_list(PaddedText::of(list));
    if (!parts) {
        return fail(parts.error());
    }
    TextPool texts;
    JsonReader reader{texts};
    for (const auto& item : parts->items) {
        auto object = reader.parse(item);
        auto done = visit(object ? decoder(*object) : Result<T>{fail(std::move(object.error()))});
        if (!done) {
            return done;
        }
    }
    return {};
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
