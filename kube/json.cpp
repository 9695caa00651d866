// SPDX-License-Identifier: Apache-2.0
#include "kube/json.h"

#include <algorithm>

#include "base/logging.h"
#include "kube/timestamps.h"

namespace scout::kube {
namespace {

static_assert(json_padding >= simdjson::SIMDJSON_PADDING);

// A path step comes from outside: a label key may be as long as the document.
constexpr std::size_t longest_step = 100;
// 31 years: as good as for ever, and no overflow in nanoseconds.
constexpr std::int64_t most_seconds = 1'000'000'000;

std::string_view kind_of(simdjson::ondemand::value& value) {
    simdjson::ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
        return "no JSON value";
    }
    switch (type) {
        case simdjson::ondemand::json_type::array:
            return "an array";
        case simdjson::ondemand::json_type::object:
            return "an object";
        case simdjson::ondemand::json_type::number:
            return "a number";
        case simdjson::ondemand::json_type::string:
            return "a string";
        case simdjson::ondemand::json_type::boolean:
            return "true or false";
        case simdjson::ondemand::json_type::null:
            return "null";
    }
    return "no JSON value";
}

Error invalid(std::string message) {
    return {.code = Errc::invalid, .message = std::move(message)};
}

}  // namespace

tl::unexpected<Error> below(std::string_view step, Error error) {
    const char next = error.message.empty() ? ':' : error.message.front();
    std::string path{step.substr(0, longest_step)};
    if (next != ':' && next != '[') {
        path += '.';
    }
    error.message.insert(0, path);
    return fail(std::move(error));
}

Error malformed(simdjson::error_code code) {
    return invalid(std::string{": expected JSON: "} + simdjson::error_message(code));
}

Error JsonValue::unexpected(std::string_view expected) {
    return invalid(": expected " + std::string{expected} + ", found " +
                   std::string{kind_of(value_)});
}

Result<bool> JsonValue::is_null() {
    bool null = false;
    if (const auto error = value_.is_null().get(null)) {
        return fail(malformed(error));
    }
    return null;
}

Result<std::string_view> JsonValue::text() {
    std::string_view text;
    if (value_.get_string().get(text) != simdjson::SUCCESS) {
        return fail(unexpected("a string"));
    }
    return text;
}

Result<std::int64_t> JsonValue::integer() {
    std::int64_t number = 0;
    if (value_.get_int64().get(number) != simdjson::SUCCESS) {
        return fail(unexpected("a whole number of 64 bits"));
    }
    return number;
}

Result<bool> JsonValue::flag() {
    bool flag = false;
    if (value_.get_bool().get(flag) != simdjson::SUCCESS) {
        return fail(unexpected("true or false"));
    }
    return flag;
}

Result<JsonObject> JsonValue::object() {
    simdjson::ondemand::object object;
    if (value_.get_object().get(object) != simdjson::SUCCESS) {
        return fail(unexpected("an object"));
    }
    return JsonObject{object, *texts_};
}

Result<simdjson::ondemand::array> JsonValue::array() {
    simdjson::ondemand::array array;
    if (value_.get_array().get(array) != simdjson::SUCCESS) {
        return fail(unexpected("an array"));
    }
    return array;
}

Result<std::string_view> JsonValue::plain_text() {
    // The token as it lies there: with its quotes, and with the white space behind them.
    const std::string_view token = value_.raw_json_token();
    const auto last = token.find_last_not_of(" \t\r\n");
    if (token.empty() || token.front() != '"' || last == 0 || last == std::string_view::npos ||
        token[last] != '"') {
        return fail(unexpected("a string"));
    }
    const auto text = token.substr(1, last - 1);
    if (text.find('\\') != std::string_view::npos) {
        return fail(invalid(": expected a string without escapes, found " + log_value(text)));
    }
    return text;
}

Result<JsonValue> JsonObject::find(std::string_view name) {
    simdjson::ondemand::value value;
    if (object_.find_field_unordered(name).get(value) != simdjson::SUCCESS) {
        return below(name, invalid(": expected it, found nothing"));
    }
    return JsonValue{value, *texts_};
}

Result<std::string_view> JsonObject::raw() {
    std::string_view text;
    if (const auto error = object_.raw_json().get(text)) {
        return fail(malformed(error));
    }
    return text;
}

Status JsonObject::rewind() {
    if (const auto error = object_.reset().error()) {
        return fail(malformed(error));
    }
    return {};
}

Status read_json(JsonValue value, std::string& target) {
    return value.text().map([&target](std::string_view text) { target = text; });
}

Status read_json(JsonValue value, SharedText& target) {
    return value.text().map(
        [&target, &value](std::string_view text) { target = value.texts().get(text); });
}

Status read_json(JsonValue value, bool& target) {
    return value.flag().map([&target](bool flag) { target = flag; });
}

Status read_json(JsonValue value, std::int64_t& target) {
    return value.integer().map([&target](std::int64_t number) { target = number; });
}

Status read_json(JsonValue value, std::chrono::seconds& target) {
    const auto number = value.integer();
    if (!number) {
        return fail(number.error());
    }
    target = std::chrono::seconds{std::clamp<std::int64_t>(*number, 0, most_seconds)};
    return {};
}

Status read_json(JsonValue value, WallTime& target) {
    const auto text = value.text();
    if (!text) {
        return fail(text.error());
    }
    const auto time = parse_time(*text);
    if (!time) {
        return fail(invalid(": expected a time like 2026-01-31T10:20:30Z, found " +
                            log_value(text->substr(0, longest_step))));
    }
    target = *time;
    return {};
}

Status read_json(JsonValue value, Labels& target) {
    std::vector<Labels::Entry> entries;
    auto done = read_map(value, [&entries](std::string_view key, JsonValue item) -> Status {
        auto& entry = entries.emplace_back(item.texts().get(key), SharedText{});
        const auto null = item.is_null();
        return null && *null ? Status{} : read_json(item, entry.second);
    });
    if (done) {
        target = Labels{std::move(entries)};
    }
    return done;
}

Result<JsonObject> JsonReader::parse(PaddedText text) {
    // A document that is moved into its place would leave its values pointing to the old place, so
    // it is put there before the first value is taken.
    const auto view = text.view();
    auto error =
        parser_.iterate(view.data(), view.size(), view.size() + json_padding).get(document_);
    simdjson::ondemand::object object;
    if (!error) {
        error = document_.get_object().get(object);
    }
    if (error) {
        return fail(Errc::invalid,
                    std::string{"expected a JSON object, found "} +
                        (error == simdjson::INCORRECT_TYPE ? "something else"
                                                           : simdjson::error_message(error)));
    }
    return JsonObject{object, *texts_};
}

}  // namespace scout::kube
