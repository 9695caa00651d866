// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "kube/json.h"

namespace scout::launcher {

/// A list of a launcher's document, as it is read. No guest has that many devices, disks or CPU
/// features, and a short entry of a document takes thirty times its size when it is read.
template <class T>
struct Few {
    std::vector<T>& list;
};

template <class T>
[[nodiscard]] Status read_json(kube::JsonValue value, Few<T>& target) {
    constexpr std::size_t most = 4096;
    return kube::read_list(value, target.list, most);
}

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
