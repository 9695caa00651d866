// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/files.h"
#include "kube/json.h"

namespace scout::launcher {

/// Reads one document by `read`, which is given its outermost object; private to this library.
/// Errors: invalid, also for one over the limit.
template <class Read>
[[nodiscard]] Status read_document(std::string& json, Read read) {
    if (json.size() > document_limit) {
        return fail(Errc::invalid, "expected at most " + std::to_string(document_limit) +
                                       " bytes, found " + std::to_string(json.size()));
    }
    kube::TextPool texts;
    kube::JsonReader reader{texts};
    auto object = reader.parse(kube::PaddedText::of(json));
    return object ? read(*object) : fail(std::move(object.error()));
}

}  // namespace scout::launcher
