// SPDX-License-Identifier: Apache-2.0
// What an API server sends: lists, the lines of a watch, and the objects in them. Any bytes are
// answered, nothing is read behind the promised padding, and the store keeps its order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "kube/list_document.h"
#include "kube/object_store.h"
#include "kube/objects/kubevirt.h"
#include "kube/objects/launcher_pod.h"
#include "kube/objects/migration.h"
#include "kube/objects/node.h"
#include "kube/objects/records.h"
#include "kube/objects/vmi.h"
#include "kube/watch_event.h"

namespace {

using namespace scout::kube;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

class StandingClock final : public scout::Clock {
public:
    [[nodiscard]] scout::SteadyTime steady() const override { return {}; }
    [[nodiscard]] scout::WallTime wall() const override { return {}; }
};

/// The text with nothing but its padding behind it.
struct Padded {
    explicit Padded(std::string_view text)
        : bytes(std::make_unique<char[]>(text.size() + json_padding)), size(text.size()) {
        std::copy(text.begin(), text.end(), bytes.get());
        std::fill_n(bytes.get() + size, json_padding, '"');
    }
    [[nodiscard]] PaddedText text() const { return PaddedText::promised({bytes.get(), size}); }

    std::unique_ptr<char[]> bytes;
    std::size_t size;
};

template <class T>
void decode(JsonReader& reader, PaddedText text, scout::Result<T> (*decoder)(JsonObject&)) {
    auto object = reader.parse(text);
    if (!object) {
        expect(!object.error().message.empty());
        return;
    }
    const auto decoded = decoder(*object);
    expect(decoded || !decoded.error().message.empty());
}

void decode_all(JsonReader& reader, PaddedText text) {
    decode(reader, text, &decode_node);
    decode(reader, text, &decode_launcher_pod);
    decode(reader, text, &decode_vmi);
    decode(reader, text, &decode_migration);
    decode(reader, text, &decode_kubevirt);
    decode(reader, text, &decode_vmi_record);
    decode(reader, text, &decode_move_record);
    decode(reader, text, &decode_pod_record);
    decode(reader, text, &decode_node_record);
    decode(reader, text, &decode_seen_event);
}

scout::Result<StoredObject> stored_node(JsonObject& object) {
    auto node = decode_node(object);
    if (!node) {
        return scout::fail(std::move(node.error()));
    }
    auto kept = std::make_shared<const Node>(std::move(*node));
    const ObjectMeta* meta = &kept->meta;
    return StoredObject{std::move(kept), meta};
}

void take_event(ObjectStore& store, WatchEvent event) {
    if (event.kind == WatchKind::bookmark) {
        static_cast<void>(read_bookmark(event.object));
        return;
    }
    if (event.kind == WatchKind::error) {
        if (const auto error = read_stream_error(event.object)) {
            static_cast<void>(says_version_too_large(error->body));
        }
        return;
    }
    const auto identity = read_identity(event.object);
    if (!identity) {
        store.unreadable(identity.error());
        return;
    }
    const auto kind = event.kind == WatchKind::added      ? ChangeKind::added
                      : event.kind == WatchKind::modified ? ChangeKind::modified
                                                          : ChangeKind::deleted;
    const bool deleted = kind == ChangeKind::deleted;
    const std::string uid{identity->uid};
    store.changed(kind, *identity, event.object);
    expect(!deleted || store.find_uid(uid) == nullptr);
}

void take_lines(JsonReader& reader, ObjectStore& store, std::string_view text) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const Padded line{text.substr(0, end)};
        text.remove_prefix(std::min(end + 1, text.size()));
        if (auto event = parse_watch_line(reader, line.text())) {
            take_event(store, *event);
        }
    }
}

void take_list(JsonReader& reader, ObjectStore& store, PaddedText body) {
    const auto list = split_list(body);
    if (!list) {
        expect(!list.error().message.empty());
        return;
    }
    store.list_began(false);
    for (const auto& item : list->items) {
        decode_all(reader, item);
        auto object = reader.parse(item);
        auto identity = object ? read_identity(*object) : scout::fail(std::move(object.error()));
        if (identity) {
            store.listed(ChangeKind::added, *identity, *object);
        } else {
            store.unreadable(identity.error());
        }
    }
    store.list_ended();
    expect(store.synced() && store.size() <= list->items.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const StandingClock clock;
    TextPool texts;
    JsonReader reader{texts};
    ObjectStore store{"nodes", &stored_node, clock};
    std::size_t named = 0;
    store.on_change([&named](const StoreChange& change) {
        named += change.before ? 0 : 1;
        named -= change.now ? 0 : 1;
    });

    const Padded whole{text};
    decode_all(reader, whole.text());
    take_list(reader, store, whole.text());
    take_lines(reader, store, text);

    expect(named == store.size());
    std::size_t found = 0;
    store.each([&store, &found](const StoredObject& object) {
        found += store.find(object.meta->space.view(), object.meta->name) != nullptr ? 1 : 0;
    });
    expect(found == store.size());
    return 0;
}
