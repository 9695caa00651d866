// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/dump.h"
#include "kube/padded_text.h"
#include "kube/shared_text.h"

namespace scout::kube {
class JsonObject;
class JsonReader;
}  // namespace scout::kube

namespace scout::cluster {

/// Takes one file of a dump after the other. Blocking.
class DumpReader {
public:
    explicit DumpReader(const DumpLimits& limits);
    ~DumpReader();
    DumpReader(const DumpReader&) = delete;
    DumpReader& operator=(const DumpReader&) = delete;
    DumpReader(DumpReader&&) = delete;
    DumpReader& operator=(DumpReader&&) = delete;

    void read(const std::filesystem::path& path);
    /// Files that were read so far, also in vain.
    [[nodiscard]] std::size_t files() const noexcept { return dump_.files; }
    [[nodiscard]] Dump take();

private:
    /// By namespace and name.
    template <class Object>
    using Known = std::map<std::pair<std::string, std::string>, Object>;

    /// Values one behind the other; the text may be moved to a larger place.
    void read_json(const std::string& place, std::string& text);
    void read_text(const std::string& place, std::string text);
    /// `kind`: of an entry of a typed list, which need not say it again.
    void read_object(const std::string& place, kube::PaddedText text, std::string_view kind);
    void read_list(const std::string& place, kube::PaddedText text, std::string_view kind);
    [[nodiscard]] Status decode(kube::JsonObject& object, std::string_view group,
                                std::string_view kind);
    [[nodiscard]] Status decode_node(kube::JsonObject& object);
    template <class Object>
    [[nodiscard]] Status put(Known<Object>& known, Result<Object> object);
    void tell_all_but_one(const std::vector<kube::KubeVirt>& kubevirts);
    void leave_out(const std::string& place, std::string reason);

    DumpLimits limits_;
    Dump dump_;
    kube::TextPool texts_;
    std::unique_ptr<kube::JsonReader> reader_;
    Known<kube::Node> nodes_;
    Known<kube::KubeVirt> kubevirts_;
    Known<kube::Vmi> vmis_;
    Known<kube::Migration> migrations_;
    Known<kube::LauncherPod> launchers_;
    Known<CpuProfile> profiles_;
    unsigned lists_ = 0;        ///< that are being read, one in the other
    std::size_t not_kept_ = 0;  ///< of what was left out
};

}  // namespace scout::cluster
