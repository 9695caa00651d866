// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"

#include <google/protobuf/util/json_util.h>

#include "base/logging.h"

namespace scout::wire {
namespace {

namespace protobuf = google::protobuf;

Error fault_of(const protobuf::Message& message, const protobuf::util::Status& status) {
    return {Errc::invalid, "expected a " + message.GetDescriptor()->name() +
                               " as JSON: " + log_value(status.message().as_string())};
}

}  // namespace

Result<std::string> to_json(const protobuf::Message& message) {
    protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    std::string text;
    if (const auto status = protobuf::util::MessageToJsonString(message, &text, options);
        !status.ok()) {
        return fail(fault_of(message, status));
    }
    return text;
}

Status from_json(std::string_view text, protobuf::Message& message) {
    protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const protobuf::StringPiece piece(text.data(), text.size());
    if (const auto status = protobuf::util::JsonStringToMessage(piece, &message, options);
        !status.ok()) {
        return fail(fault_of(message, status));
    }
    return {};
}

}  // namespace scout::wire
