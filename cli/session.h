// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "cli/answers.h"
#include "cli/cluster_access.h"
#include "cli/json_text.h"
#include "cli/open_fleet.h"
#include "cli/render_json.h"
#include "cli/render_table.h"
#include "cli/settings.h"
#include "cluster/dump.h"
#include "cluster/records.h"
#include "migration/cpu_map.h"

namespace scout::fleet {
class DumpFleet;
}  // namespace scout::fleet

namespace scout::cli {

/// What is told where stdout takes no more.
inline constexpr std::string_view cannot_write =
    "scoutctl: cannot write the answer to stdout: it is full or closed";

/// Connects to an aggregator; how is cli::open_fleet()'s business, or a test's.
using OpenFleet =
    std::function<Result<std::unique_ptr<Fleet>>(const Settings&, const AccessRequest&)>;

/// What the process is attached to.
struct Surroundings {
    bool colour = false;    ///< stdout takes colours
    bool progress = false;  ///< stderr is a terminal
    bool watched = false;   ///< stdout is a terminal: what is written there shows the progress
    OpenFleet open_fleet;
    const Clock* clock = nullptr;                 ///< for `debug watch`; outlives the run
    std::function<bool(std::string_view)> write;  ///< to stdout; false: it is full or gone
    std::function<void(std::string_view)> tell;   ///< a line to stderr
};

/// Objects of a cluster that are asked in the aggregator's place, as the command line has it.
struct DumpRequest {
    std::vector<std::string> paths;  ///< --from
    bool live = false;               ///< --live: from the API server itself
    AccessRequest access;            ///< with --live, and for the cluster's own aggregator
    std::string machine_type;        ///< --machine-type
    std::string layer;               ///< --layer: stock or truth; empty: the cluster's
};

/// One run of a command: settings, where answers go, and what is opened once when first needed.
class Session {
public:
    Session(Settings settings, Format format, Surroundings surroundings, DumpRequest dump = {});

    [[nodiscard]] Format format() const noexcept { return format_; }
    /// What is written is read along, and not parsed.
    [[nodiscard]] bool for_people() const noexcept {
        return format_ == Format::table || format_ == Format::wide;
    }
    [[nodiscard]] TableStyle style() const noexcept {
        return {.colour = surroundings_.colour, .wide = format_ == Format::wide};
    }
    [[nodiscard]] bool progress() const noexcept { return surroundings_.progress; }
    /// The same for answers that are written piece by piece.
    [[nodiscard]] bool progress_beside_output() const noexcept {
        return surroundings_.progress && !surroundings_.watched;
    }

    /// The cpu_map to judge with, in the order of design §5: --cpu-map or the configured one (then
    /// it must be there), else the installed libvirt's; null if there is none.
    [[nodiscard]] Result<const migration::CpuMap*> map();

    /// Who answers about a fleet: the cluster's objects, if they are asked, else the aggregator.
    [[nodiscard]] Result<std::unique_ptr<Fleet>> fleet();
    /// Reads the dump that is given, or what the API server has.
    [[nodiscard]] Result<std::unique_ptr<fleet::DumpFleet>> dump();
    /// The same with what protects VMs.
    [[nodiscard]] Result<std::unique_ptr<Fleet>> protected_fleet();
    /// The same with what decides where kube-scheduler puts pods.
    [[nodiscard]] Result<std::unique_ptr<Fleet>> placing_fleet();
    /// The same as objects, for who asks neither for places nor for CPUs. What cannot be used is
    /// told on stderr. Errors beside: invalid, if neither a dump nor the API server is asked.
    [[nodiscard]] Result<cluster::Objects> objects();
    /// The same with what could not be used, which is told on stderr too.
    [[nodiscard]] Result<cluster::Dump> objects_and_gaps();
    /// As placing_fleet(), as objects with their moment. What cannot be used is told on stderr.
    /// Errors beside: invalid, if neither a dump nor the API server is asked.
    [[nodiscard]] Result<cluster::Dump> objects_of_places();
    /// The same as who looks back needs it. What cannot be used is told on stderr. Errors beside:
    /// invalid, if neither a dump nor the API server is asked.
    [[nodiscard]] Result<cluster::RecordDump> records();
    /// The same with what find_story() needs besides.
    [[nodiscard]] Result<cluster::RecordDump> stories();
    [[nodiscard]] const Clock& clock() const noexcept { return *surroundings_.clock; }
    [[nodiscard]] bool asks_dump() const noexcept { return dump_.live || !dump_.paths.empty(); }
    [[nodiscard]] bool asks_live() const noexcept { return dump_.live; }
    /// The answer comes of the objects of a cluster, here or with the cluster's own aggregator: VMs
    /// are VMIs then, and have namespaces.
    [[nodiscard]] bool asks_cluster() const {
        return asks_dump() || settings_.aggregator == cluster_aggregator;
    }
    /// What takes the time of an answer.
    [[nodiscard]] const char* waits_for() const noexcept {
        return asks_dump() ? "judging the cluster" : "asking the aggregator";
    }

    /// Writes the answer in the chosen format; `code` unless it cannot be written.
    template <class Answer>
    [[nodiscard]] int show(const Answer& answer, int code = exit_code::can) {
        return show_text(text_of(answer), code);
    }
    /// The same of one that may be too long to be held.
    [[nodiscard]] int show(const AnyMatrix& answer);
    [[nodiscard]] int show_text(std::string_view text, int code = exit_code::can);

    /// One event, one line: compact JSON, a YAML document, or a line for people.
    template <class Event>
    [[nodiscard]] int show_event(const Event& event) {
        switch (format_) {
            case Format::json:
                return show_text(to_json_line(to_json(event)) + "\n");
            case Format::yaml:
                return show_text("---\n" + to_yaml_text(to_json(event)));
            case Format::table:
            case Format::wide:
                break;
        }
        return show_text(to_table(event, style()) + "\n");
    }

    /// Says the error on stderr; always exit_code::error.
    [[nodiscard]] int fail_with(const Error& error) const;

private:
    template <class Answer>
    [[nodiscard]] std::string text_of(const Answer& answer) const {
        switch (format_) {
            case Format::json:
                return to_json_text(to_json(answer));
            case Format::yaml:
                return to_yaml_text(to_json(answer));
            case Format::table:
            case Format::wide:
                break;
        }
        return to_table(answer, style());
    }

    [[nodiscard]] int told_all(bool written, int code = exit_code::can) const;

    template <class Dump>
    using ReadFiles = Result<Dump> (*)(const std::vector<std::filesystem::path>&,
                                       const cluster::DumpProgress&, const cluster::DumpLimits&);
    template <class Dump>
    using ReadLive = Result<Dump> (*)(const kube::ClusterAccess&, const Clock&,
                                      std::chrono::milliseconds, const cluster::LiveProgress&);
    [[nodiscard]] Result<std::unique_ptr<fleet::DumpFleet>> dump(ReadLive<cluster::Dump> live);
    /// From the files or the API server, as the command line has it.
    template <class Dump>
    [[nodiscard]] Result<Dump> read_objects(ReadFiles<Dump> files, ReadLive<Dump> live);
    /// The same, and what could not be used is told on stderr.
    template <class Dump>
    [[nodiscard]] Result<Dump> told(ReadFiles<Dump> files, ReadLive<Dump> live);

    Settings settings_;
    Format format_;
    Surroundings surroundings_;
    DumpRequest dump_;
    std::optional<migration::CpuMap> map_;
    bool map_looked_for_ = false;
};

}  // namespace scout::cli
