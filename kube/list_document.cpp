// SPDX-License-Identifier: Apache-2.0
#include "kube/list_document.h"

#include <algorithm>
#include <string>

#include "kube/json.h"

namespace scout::kube {
namespace {

/// More than anybody has objects of one kind; each takes 16 bytes here.
constexpr std::size_t most_items = 1'000'000;

/// Finds where values end. What is inside them is checked by who reads them.
class Scanner {
public:
    explicit Scanner(std::string_view text) noexcept : text_(text) {}

    [[nodiscard]] bool take(char expected) noexcept {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != expected) {
            return false;
        }
        ++at_;
        return true;
    }
    [[nodiscard]] bool is_at_end() noexcept {
        skip_space();
        return at_ >= text_.size();
    }
    /// The next value as it stands; nothing if it does not end.
    [[nodiscard]] std::string_view value() noexcept {
        skip_space();
        const std::size_t start = at_;
        const bool ended = skip_value();
        return ended ? text_.substr(start, at_ - start) : std::string_view{};
    }

private:
    void skip_space() noexcept {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    }
    bool skip_string() noexcept {
        ++at_;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') {
                return true;
            }
            at_ += c == '\\' ? 1 : 0;
        }
        return false;
    }
    bool skip_value() noexcept {
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                if (!skip_string()) {
                    return false;
                }
            } else if (c == '{' || c == '[') {
                ++depth;
                ++at_;
            } else if (c == '}' || c == ']') {
                if (depth == 0) {
                    return false;
                }
                --depth;
                ++at_;
            } else if (depth == 0) {
                at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
            } else {
                ++at_;
                continue;
            }
            if (depth == 0) {
                return true;
            }
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

tl::unexpected<Error> no_list(std::string_view why) {
    return fail(Errc::invalid, "expected a Kubernetes list, found " + std::string{why});
}

Status split_items(Scanner& scanner, std::vector<PaddedText>& items) {
    if (!scanner.take('[')) {
        return scanner.value() == "null" ? Status{} : no_list("items that are no array");
    }
    if (scanner.take(']')) {
        return {};
    }
    do {
        const auto item = scanner.value();
        if (item.empty()) {
            return no_list("an item that does not end");
        }
        if (items.size() == most_items) {
            return no_list("more than " + std::to_string(most_items) + " items");
        }
        items.push_back(PaddedText::promised(item));
    } while (scanner.take(','));
    return scanner.take(']') ? Status{} : no_list("items that do not end");
}

Status read_metadata(std::string_view text, ListDocument& list) {
    TextPool texts;
    JsonReader reader{texts};
    auto metadata = reader.parse(PaddedText::promised(text));
    if (!metadata) {
        return fail(std::move(metadata.error()).within("metadata"));
    }
    auto done = metadata->read(Field{"resourceVersion", list.version},
                               Field{"continue", list.continue_token});
    return done ? done : below("metadata", std::move(done.error()));
}

constexpr std::string_view items_key = R"("items")";
constexpr std::string_view metadata_key = R"("metadata")";

Status read_member(std::string_view key, Scanner& scanner, ListDocument& list) {
    if (key == items_key) {
        return split_items(scanner, list.items);
    }
    const auto value = scanner.value();
    if (value.empty()) {
        return no_list("a document that is cut off");
    }
    return key == metadata_key ? read_metadata(value, list) : Status{};
}

}  // namespace

Result<ListDocument> split_list(PaddedText body) {
    Scanner scanner{body.view()};
    if (!scanner.take('{')) {
        return no_list("no JSON object");
    }
    ListDocument list;
    bool has_items = false;
    while (!scanner.take('}')) {
        const auto key = scanner.value();
        if (key.empty() || !scanner.take(':')) {
            return no_list("a document that is cut off");
        }
        if (auto done = read_member(key, scanner, list); !done) {
            return fail(std::move(done.error()));
        }
        has_items = has_items || key == items_key;
        // A comma, or the end that the loop looks for.
        static_cast<void>(scanner.take(','));
    }
    if (!has_items || !scanner.is_at_end()) {
        return no_list(has_items ? "more behind it" : "no items");
    }
    return list;
}

}  // namespace scout::kube
