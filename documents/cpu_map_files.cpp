// SPDX-License-Identifier: Apache-2.0
#include "documents/cpu_map_files.h"

#include <map>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/logging.h"
#include "documents/cpu_map_document.h"

namespace scout::documents {
namespace {

bool stays_in_folder(const std::string& name) {
    return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

/// Names of the files that hold x86 models: as the index says, else by their own names.
Result<std::vector<std::string>> model_files(const std::filesystem::path& folder) {
    auto index = read_file(folder / "index.xml");
    if (index) {
        auto names = parse_cpu_map_index(*index);
        if (!names) {
            return fail(std::move(names.error()).within((folder / "index.xml").string()));
        }
        return names;
    }
    if (index.error().code != Errc::not_found) {
        return fail(std::move(index.error()));
    }
    auto files = list_files(folder);
    if (!files) {
        return fail(std::move(files.error()));
    }
    std::vector<std::string> names;
    for (const auto& file : *files) {
        auto name = file.filename().string();
        if (name.starts_with("x86_") && name.ends_with(".xml")) {
            names.push_back(std::move(name));
        }
    }
    if (names.empty()) {
        return fail(Errc::not_found,
                    folder.string() + ": expected a cpu_map (index.xml), found none");
    }
    return names;
}

}  // namespace

Result<migration::CpuMap> load_cpu_map(const std::filesystem::path& folder) {
    auto names = model_files(folder);
    if (!names) {
        return fail(std::move(names.error()).within("cpu_map"));
    }
    RawModels models;
    for (const auto& name : *names) {
        if (!stays_in_folder(name)) {
            return fail(Errc::invalid, "cpu_map " + folder.string() +
                                           ": expected includes inside the folder, found " +
                                           log_value(name));
        }
        auto text = read_file(folder / name);
        const auto file = (folder / name).string();
        if (!text && text.error().code == Errc::not_found) {
            return fail(Errc::invalid, "cpu_map " + folder.string() +
                                           ": expected every file that "
                                           "index.xml includes, found no " +
                                           file);
        }
        if (!text) {
            return fail(std::move(text.error()).within("cpu_map"));
        }
        if (auto added = add_cpu_map_models(*text, file, models); !added) {
            return fail(std::move(added.error()).within("cpu_map " + file));
        }
    }
    auto resolved = resolve_models(models);
    if (!resolved) {
        return fail(std::move(resolved.error()).within("cpu_map"));
    }
    return migration::CpuMap{folder.string(), std::move(*resolved)};
}

Result<std::optional<migration::CpuMap>> find_cpu_map(
    const std::optional<std::filesystem::path>& configured,
    const std::filesystem::path& installed) {
    auto map = load_cpu_map(configured.value_or(installed));
    if (map) {
        return std::optional{std::move(*map)};
    }
    if (!configured && map.error().code == Errc::not_found) {
        return std::optional<migration::CpuMap>{};
    }
    return fail(std::move(map.error()));
}

}  // namespace scout::documents
