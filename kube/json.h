// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/clock.h"
#include "base/result.h"
#include "kube/labels.h"
#include "kube/padded_text.h"
#include "kube/shared_text.h"

// Reading JSON in one pass, without a tree. Included by the decoders' sources only: simdjson is a
// large header. Errors are Errc::invalid and name the path: "spec.taints[3].effect: expected a
// string, found a number". Each value is read at most once: simdjson has room for that only.

namespace scout::kube {

class JsonObject;

/// One value of the document. Valid until the document moves on.
class JsonValue {
public:
    JsonValue(simdjson::ondemand::value value, TextPool& texts) noexcept
        : value_(value), texts_(&texts) {}

    [[nodiscard]] Result<bool> is_null();
    /// Valid until the reader takes the next document.
    [[nodiscard]] Result<std::string_view> text();
    [[nodiscard]] Result<std::int64_t> integer();
    [[nodiscard]] Result<bool> flag();
    [[nodiscard]] Result<JsonObject> object();
    [[nodiscard]] Result<simdjson::ondemand::array> array();

    /// A string as it stands in the document, without room being used for it, so that it can be
    /// read again. Errors beside the usual: it has an escape.
    [[nodiscard]] Result<std::string_view> plain_text();

    /// Where equal texts of the documents share their bytes.
    [[nodiscard]] TextPool& texts() const noexcept { return *texts_; }

private:
    [[nodiscard]] Error unexpected(std::string_view expected);

    simdjson::ondemand::value value_;
    TextPool* texts_;
};

/// The error of something below: the step is put in front of its path.
[[nodiscard]] tl::unexpected<Error> below(std::string_view step, Error error);
[[nodiscard]] Error malformed(simdjson::error_code code);

[[nodiscard]] Status read_json(JsonValue value, std::string& target);
[[nodiscard]] Status read_json(JsonValue value, SharedText& target);
[[nodiscard]] Status read_json(JsonValue value, bool& target);
[[nodiscard]] Status read_json(JsonValue value, std::int64_t& target);
/// Whole seconds; below 0 is taken as 0, as Kubernetes does with grace periods, and more than 31
/// years as that.
[[nodiscard]] Status read_json(JsonValue value, std::chrono::seconds& target);
[[nodiscard]] Status read_json(JsonValue value, WallTime& target);
[[nodiscard]] Status read_json(JsonValue value, Labels& target);
template <class T>
[[nodiscard]] Status read_json(JsonValue value, std::optional<T>& target);
template <class T>
[[nodiscard]] Status read_json(JsonValue value, std::vector<T>& target);

/// A member that is read into a variable by the read_json() for its type. null leaves it alone.
template <class T>
class Field {
public:
    Field(std::string_view name, T& target) noexcept : name_(name), target_(&target) {}

    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    [[nodiscard]] Status read(JsonValue value) const { return read_json(value, *target_); }

private:
    std::string_view name_;
    T* target_;
};

/// A member that is an object of which some members are read.
template <class... Inner>
class Nested {
public:
    Nested(std::string_view name, Inner... inner) : name_(name), inner_(std::move(inner)...) {}

    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    [[nodiscard]] Status read(JsonValue value) const;

private:
    std::string_view name_;
    std::tuple<Inner...> inner_;
};

/// An object of the document, read from its first member to its last.
class JsonObject {
public:
    JsonObject(simdjson::ondemand::object object, TextPool& texts) noexcept
        : object_(object), texts_(&texts) {}

    /// Reads the wanted members in one pass; others are skipped.
    template <class... Wanted>
    [[nodiscard]] Status read(const Wanted&... wanted) {
        return each_raw([this, &wanted...](simdjson::ondemand::field& field) -> Status {
            Status done;
            const bool taken = (take(wanted, field, done) || ...);
            static_cast<void>(taken);
            return done;
        });
    }

    /// Visit: (std::string_view key, JsonValue) -> Status; for maps.
    template <class Visit>
    [[nodiscard]] Status each(Visit visit) {
        return each_raw([this, &visit](simdjson::ondemand::field& field) -> Status {
            std::string_view key;
            if (const auto error = field.unescaped_key().get(key)) {
                return fail(malformed(error));
            }
            auto done = visit(key, JsonValue{field.value(), *texts_});
            return done ? done : below(key, std::move(done.error()));
        });
    }

    /// The member of that name. Errors beside the usual: there is none.
    [[nodiscard]] Result<JsonValue> find(std::string_view name);

    /// The whole object as it stands in the document.
    [[nodiscard]] Result<std::string_view> raw();

    /// Back to the first member. Texts that were read by text() must not be read again.
    [[nodiscard]] Status rewind();

    [[nodiscard]] TextPool& texts() const noexcept { return *texts_; }

private:
    template <class Visit>
    [[nodiscard]] Status each_raw(Visit visit) {
        for (auto entry : object_) {
            simdjson::ondemand::field field;
            if (const auto error = std::move(entry).get(field)) {
                return fail(malformed(error));
            }
            if (auto done = visit(field); !done) {
                return done;
            }
        }
        return {};
    }

    /// True if the member is the wanted one.
    template <class Wanted>
    bool take(const Wanted& wanted, simdjson::ondemand::field& field, Status& done) {
        if (!field.key().unsafe_is_equal(wanted.name())) {
            return false;
        }
        JsonValue value{field.value(), *texts_};
        const auto null = value.is_null();
        if (!null) {
            done = below(wanted.name(), null.error());
        } else if (!*null) {
            done = wanted.read(value);
            if (!done) {
                done = below(wanted.name(), std::move(done.error()));
            }
        }
        return true;
    }

    simdjson::ondemand::object object_;
    TextPool* texts_;
};

/// The wanted members of a value that is an object.
template <class... Wanted>
[[nodiscard]] Status read_members(JsonValue value, const Wanted&... wanted) {
    auto object = value.object();
    return object ? object->read(wanted...) : fail(std::move(object.error()));
}

/// Every member of a value that is an object; see JsonObject::each().
template <class Visit>
[[nodiscard]] Status read_map(JsonValue value, Visit visit) {
    auto object = value.object();
    return object ? object->each(std::move(visit)) : fail(std::move(object.error()));
}

template <class... Inner>
Status Nested<Inner...>::read(JsonValue value) const {
    return std::apply([&value](const auto&... inner) { return read_members(value, inner...); },
                      inner_);
}

template <class T>
Status read_json(JsonValue value, std::optional<T>& target) {
    return read_json(value, target.emplace());
}

/// A list of at most that many entries; a longer one is an error.
template <class T>
[[nodiscard]] Status read_list(JsonValue value, std::vector<T>& target, std::size_t most) {
    auto array = value.array();
    if (!array) {
        return fail(std::move(array.error()));
    }
    target.clear();
    for (auto entry : *array) {
        if (target.size() >= most) {
            return fail(Errc::invalid,
                        ": expected at most " + std::to_string(most) + " entries, found more");
        }
        simdjson::ondemand::value item;
        if (const auto error = std::move(entry).get(item)) {
            return fail(malformed(error));
        }
        if (auto done = read_json(JsonValue{item, value.texts()}, target.emplace_back()); !done) {
            return below("[" + std::to_string(target.size() - 1) + "]", std::move(done.error()));
        }
    }
    target.shrink_to_fit();
    return {};
}

template <class T>
Status read_json(JsonValue value, std::vector<T>& target) {
    return read_list(value, target, std::numeric_limits<std::size_t>::max());
}

/// Takes one document after the other, with one set of buffers: five bytes for each byte of the
/// largest document so far.
class JsonReader {
public:
    explicit JsonReader(TextPool& texts) noexcept : texts_(&texts) {}

    /// The document's outermost object, valid until the next call. The text must stay too.
    [[nodiscard]] Result<JsonObject> parse(PaddedText text);

private:
    simdjson::ondemand::parser parser_;
    simdjson::ondemand::document document_;
    TextPool* texts_;
};

}  // namespace scout::kube
