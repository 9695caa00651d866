// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/object_store.h"
#include "kube/reflector.h"

namespace scout::kube {

/// The objects of one kind, decoded to T, kept equal to the server's. T has a member `meta` of type
/// ObjectMeta. Objects never change: a new state is a new object, so that they may be kept and read
/// on any thread.
///
/// Loop thread. Handlers are set before run(); they are called when the change is in the store and
/// may read it. Everything that the constructor takes by reference must outlive the informer.
template <class T>
class Informer {
public:
    using Pointer = std::shared_ptr<const T>;
    using Decoder = Result<T> (*)(JsonObject&);

    /// `before` alone: deleted; `now` alone: added; both: updated.
    struct Change {
        Pointer before;
        Pointer now;
        FoundBy found_by = FoundBy::watch;
    };

    Informer(Transport& transport, const Clock& clock, Reflector::Subject subject, Decoder decoder,
             ReflectorSettings settings = {})
        : store_(display_name(subject.resource), erased(decoder), clock),
          reflector_(transport, clock, store_, std::move(subject), settings) {}

    void on_change(std::function<void(const Change&)> handler) {
        store_.on_change([handler = std::move(handler)](const StoreChange& change) {
            handler({typed(change.before), typed(change.now), change.found_by});
        });
    }
    /// Once, when the first list is in the store.
    void on_synced(std::function<void()> handler) { store_.on_synced(std::move(handler)); }

    /// Goes on until it is cancelled.
    [[nodiscard]] Task<> run() { return reflector_.run(); }

    /// Null if there is none. `space` is empty for cluster-scoped kinds.
    [[nodiscard]] Pointer find(std::string_view space, std::string_view name) const {
        const auto* found = store_.find(space, name);
        return found == nullptr ? nullptr : typed(found->object);
    }
    [[nodiscard]] Pointer find_uid(std::string_view uid) const {
        const auto* found = store_.find_uid(uid);
        return found == nullptr ? nullptr : typed(found->object);
    }
    /// Visit: (const Pointer&). In no order.
    template <class Visit>
    void each(Visit visit) const {
        store_.each([&visit](const StoredObject& stored) { visit(typed(stored.object)); });
    }

    [[nodiscard]] bool synced() const noexcept { return store_.synced(); }
    [[nodiscard]] std::size_t size() const noexcept { return store_.size(); }
    [[nodiscard]] const StoreCounters& store_counters() const noexcept { return store_.counters(); }
    [[nodiscard]] const Reflector& reflector() const noexcept { return reflector_; }

private:
    [[nodiscard]] static Pointer typed(const std::shared_ptr<const void>& object) {
        return std::static_pointer_cast<const T>(object);
    }
    [[nodiscard]] static ObjectStore::Decoder erased(Decoder decoder) {
        return [decoder](JsonObject& object) -> Result<StoredObject> {
            auto decoded = decoder(object);
            if (!decoded) {
                return fail(std::move(decoded.error()));
            }
            auto kept = std::make_shared<const T>(std::move(*decoded));
            const ObjectMeta* meta = &kept->meta;
            return StoredObject{std::move(kept), meta};
        };
    }

    ObjectStore store_;
    Reflector reflector_;
};

}  // namespace scout::kube
