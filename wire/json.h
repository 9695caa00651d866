// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace scout::wire {

/// The JSON form that protobuf has for messages (names in lowerCamelCase, 64-bit numbers as texts),
/// with fields that have their default.
[[nodiscard]] Result<std::string> to_json(const google::protobuf::Message& message);

/// Passes over fields that this version does not know. Errc::invalid for what is no such message.
[[nodiscard]] Status from_json(std::string_view text, google::protobuf::Message& message);

}  // namespace scout::wire
