// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/dump.h"
#include "kube/padded_text.h"
#include "kube/resource_version.h"
#include "kube/shared_text.h"

namespace scout::kube {
class JsonObject;
class JsonReader;
}  // namespace scout::kube

namespace scout::cluster {

/// Finds the objects in the files of a dump, one file after the other, and keeps account of what
/// cannot be used. What an object means is its owner's business. Blocking.
class DumpWalk {
public:
    /// Takes one object; `group` is empty for the core group and for entries of typed lists, which
    /// do not say theirs. False: nobody asks about its kind.
    using Decode = std::function<Result<bool>(kube::JsonObject&, std::string_view group,
                                              std::string_view kind)>;

    DumpWalk(const DumpLimits& limits, Decode decode);
    ~DumpWalk();
    DumpWalk(const DumpWalk&) = delete;
    DumpWalk& operator=(const DumpWalk&) = delete;
    DumpWalk(DumpWalk&&) = delete;
    DumpWalk& operator=(DumpWalk&&) = delete;

    /// All files behind these paths. Errors: those of dump_files().
    [[nodiscard]] Status read(const std::vector<std::filesystem::path>& paths,
                              const DumpProgress& progress);
    void leave_out(const std::string& place, std::string reason);

    /// Files that were read so far, also in vain.
    [[nodiscard]] std::size_t files() const noexcept { return files_; }
    [[nodiscard]] std::size_t other_kinds() const noexcept { return other_kinds_; }
    [[nodiscard]] std::vector<LeftOut> take_left_out();

private:
    void read_file(const std::filesystem::path& path);
    /// Values one behind the other; the text may be moved to a larger place.
    void read_json(const std::string& place, std::string& text);
    void read_text(const std::string& place, std::string text);
    /// `kind`: of an entry of a typed list, which need not say it again.
    void read_object(const std::string& place, kube::PaddedText text, std::string_view kind);
    void read_list(const std::string& place, kube::PaddedText text, std::string_view kind);

    DumpLimits limits_;
    Decode decode_;
    kube::TextPool texts_;
    std::unique_ptr<kube::JsonReader> reader_;
    std::vector<LeftOut> left_out_;
    std::size_t files_ = 0;
    std::size_t other_kinds_ = 0;
    std::size_t not_kept_ = 0;  ///< of what was left out
    unsigned lists_ = 0;        ///< that are being read, one in the other
};

/// Objects of one kind by namespace and name: one that is there more than once counts once, as its
/// highest resourceVersion has it.
template <class Object>
class KnownObjects {
public:
    /// Answers true, for it is a kind that is asked about. Errors: the object's own; invalid (no
    /// name). Two objects of one name are told to `walk`.
    [[nodiscard]] Result<bool> put(DumpWalk& walk, Result<Object> object);
    [[nodiscard]] std::vector<Object> take();

private:
    std::map<std::pair<std::string, std::string>, Object> known_;
};

template <class Object>
Result<bool> KnownObjects<Object>::put(DumpWalk& walk, Result<Object> object) {
    if (!object) {
        return fail(std::move(object.error()));
    }
    if (object->meta.name.empty()) {
        return fail(Errc::invalid, "expected metadata.name, found none");
    }
    auto [place, fresh] =
        known_.try_emplace({object->meta.space.str(), object->meta.name}, std::move(*object));
    if (fresh) {
        return true;
    }
    const auto& before = place->second.meta;
    if (object->meta.uid != before.uid && !object->meta.uid.empty() && !before.uid.empty()) {
        walk.leave_out(
            object->meta.space.empty() ? object->meta.name
                                       : object->meta.space.str() + "/" + object->meta.name,
            "there twice with different UIDs, so of two clusters, or made anew; the one of the "
            "higher resourceVersion counts: give the objects of one cluster and moment");
    }
    if (kube::compare_versions(object->meta.version, before.version) != kube::VersionOrder::older) {
        place->second = std::move(*object);
    }
    return true;
}

template <class Object>
std::vector<Object> KnownObjects<Object>::take() {
    std::vector<Object> out;
    out.reserve(known_.size());
    for (auto& [name, object] : known_) {
        out.push_back(std::move(object));
    }
    known_.clear();
    return out;
}

}  // namespace scout::cluster
