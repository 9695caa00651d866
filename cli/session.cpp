// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <chrono>
#include <utility>

#include "base/logging.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/write_levels.h"
#include "cluster/live.h"
#include "documents/cpu_map_files.h"
#include "fleet/dump_fleet.h"

namespace scout::cli {
namespace {

/// For the largest clusters over a slow line.
constexpr auto live_limit = std::chrono::minutes{5};

}  // namespace

Session::Session(Settings settings, Format format, Surroundings surroundings, DumpRequest dump)
    : settings_(std::move(settings)),
      format_(format),
      surroundings_(std::move(surroundings)),
      dump_(std::move(dump)) {}

Result<const migration::CpuMap*> Session::map() {
    if (!map_looked_for_) {
        auto found = documents::find_cpu_map(settings_.cpu_map);
        if (!found) {
            return fail(std::move(found.error()));
        }
        map_looked_for_ = true;
        map_ = std::move(*found);
    }
    return map_ ? &*map_ : nullptr;
}

Result<std::unique_ptr<Fleet>> Session::fleet() {
    if (asks_dump()) {
        return dump();
    }
    return surroundings_.open_fleet(settings_, dump_.access);
}

Result<std::unique_ptr<Fleet>> Session::protected_fleet() {
    if (asks_dump()) {
        return dump(&cluster::read_protected_cluster);
    }
    return surroundings_.open_fleet(settings_, dump_.access);
}

Result<std::unique_ptr<Fleet>> Session::placing_fleet() {
    if (asks_dump()) {
        return dump(&cluster::read_placing_cluster);
    }
    return surroundings_.open_fleet(settings_, dump_.access);
}

Result<std::unique_ptr<fleet::DumpFleet>> Session::dump() {
    return dump(&cluster::read_cluster);
}

Result<std::unique_ptr<fleet::DumpFleet>> Session::dump(ReadLive<cluster::Dump> live) {
    const auto judged = map();
    if (!judged) {
        return fail(judged.error());
    }
    const auto layer = migration::layer_named(dump_.layer);
    if (!layer && !dump_.layer.empty()) {
        return fail(Errc::invalid,
                    "--layer: expected stock or truth, found '" + shown(dump_.layer) + "'");
    }
    const fleet::DumpWishes wishes{
        .machine_type = dump_.machine_type, .layer = layer, .map = *judged};
    auto objects = read_objects<cluster::Dump>(&cluster::read_dump, live);
    if (!objects) {
        return fail(std::move(objects.error()));
    }
    return fleet::open_dump(std::move(*objects), wishes, [this](std::string_view line) {
        surroundings_.tell("scoutctl: " + shown(line));
    });
}

Result<cluster::Objects> Session::objects() {
    auto dump = objects_and_gaps();
    if (!dump) {
        return fail(std::move(dump.error()));
    }
    return std::move(dump->objects);
}

Result<cluster::Dump> Session::objects_and_gaps() {
    return told<cluster::Dump>(&cluster::read_dump, &cluster::read_protected_cluster);
}

Result<cluster::Dump> Session::objects_of_places() {
    return told<cluster::Dump>(&cluster::read_dump, &cluster::read_placing_cluster);
}

Result<cluster::RecordDump> Session::records() {
    return told<cluster::RecordDump>(&cluster::read_records, &cluster::read_live_records);
}

Result<cluster::RecordDump> Session::stories() {
    return told<cluster::RecordDump>(&cluster::read_records, &cluster::read_live_stories);
}

template <class Dump>
Result<Dump> Session::told(ReadFiles<Dump> of_files, ReadLive<Dump> of_server) {
    if (!asks_dump()) {
        return fail(Errc::invalid, "expected --from with a dump of a cluster, or --live");
    }
    auto dump = read_objects<Dump>(of_files, of_server);
    if (dump) {
        fleet::tell_left_out(dump->left_out, [this](std::string_view line) {
            surroundings_.tell("scoutctl: " + shown(line));
        });
    }
    return dump;
}

template <class Dump>
Result<Dump> Session::read_objects(ReadFiles<Dump> of_files, ReadLive<Dump> of_server) {
    if (dump_.live && !dump_.paths.empty()) {
        return fail(Errc::invalid, "expected --from or --live, found both");
    }
    if (!dump_.live) {
        Progress progress("reading the dump", surroundings_.progress);
        const auto show = [&progress](std::size_t file, std::size_t files) {
            progress.say("reading the dump: file " + std::to_string(file) + " of " +
                         std::to_string(files));
        };
        auto dump = of_files({dump_.paths.begin(), dump_.paths.end()}, show, {});
        if (dump && dump->files == 0) {
            return fail(Errc::invalid,
                        "--from: expected files that end in .yaml, .yml or .json, "
                        "perhaps with .gz, found none");
        }
        return dump;
    }
    const auto access = find_access(dump_.access);
    if (!access) {
        return fail(access.error());
    }
    // What is wrong is in the answer; the client's own words are for daemons.
    if (auto logging = set_up_logging({.level = "off"}, true); !logging) {
        return fail(std::move(logging.error()));
    }
    Progress progress("reading the cluster", surroundings_.progress);
    const auto show = [&progress](std::string_view kind, std::size_t count) {
        progress.say("reading the cluster: " + std::to_string(count) + " " + std::string{kind});
    };
    return of_server(*access, clock(), live_limit, show);
}

int Session::show(const AnyMatrix& answer) {
    const auto* levels = std::get_if<LevelsAnswer>(&answer);
    if (levels == nullptr) {
        return show(std::get<MatrixAnswer>(answer));
    }
    TextSink sink(surroundings_.write);
    write_levels(*levels, format_, style(), sink);
    return told_all(sink.finish());
}

int Session::show_text(std::string_view text, int code) {
    return told_all(surroundings_.write(text), code);
}

int Session::told_all(bool written, int code) const {
    if (!written) {
        surroundings_.tell(cannot_write);
    }
    return written ? code : exit_code::error;
}

int Session::fail_with(const Error& error) const {
    surroundings_.tell("scoutctl: " + shown(error.message));
    return exit_code::error;
}

}  // namespace scout::cli
