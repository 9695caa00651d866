// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/logging.h"
#include "base/task_scope.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/text.h"
#include "kube/http_transport.h"
#include "kube/informer.h"
#include "kube/objects/bare_object.h"
#include "kube/objects/launcher_pod.h"
#include "migration/feature_set.h"

/// `debug watch`: for support, and for trying our informers against any API server.
namespace scout::cli {
namespace {

struct KnownKind {
    std::vector<std::string_view> names;
    const kube::Resource& (*resource)();
    const char* labels = "";
};

const std::vector<KnownKind>& known_kinds() {
    namespace resources = kube::resources;
    static const std::vector<KnownKind> kinds{
        {{"nodes", "node", "no"}, resources::nodes},
        {{"pods", "pod", "po"}, resources::pods},
        {{"launchers", "launcher", "virt-launcher"}, resources::pods, kube::launcher_selector},
        {{"vmis", "vmi", "virtualmachineinstances"}, resources::virtual_machine_instances},
        {{"vmims", "vmim", "virtualmachineinstancemigrations"}, resources::migrations},
        {{"kubevirts", "kubevirt", "kv"}, resources::kubevirts},
        {{"scoutconfigs", "scoutconfig", "scout"}, resources::scout_configs},
        {{"cpuprofiles", "cpuprofile", "cpup"}, resources::cpu_profiles},
        {{"leases", "lease"}, resources::leases},
        {{"events", "event", "ev"}, resources::events},
        {{"crds", "crd", "customresourcedefinitions"}, resources::custom_resource_definitions}};
    return kinds;
}

/// "PLURAL.VERSION.GROUP", "PLURAL.VERSION" of the core group; nothing for anything else.
std::optional<kube::Resource> spelled_out(const std::string& text) {
    const auto dot = text.find('.');
    if (dot == 0 || dot == std::string::npos) {
        return std::nullopt;
    }
    const auto next = std::min(text.find('.', dot + 1), text.size());
    auto version = text.substr(dot + 1, next - dot - 1);
    const bool versioned =
        version.size() > 1 && version[0] == 'v' && version[1] >= '0' && version[1] <= '9';
    if (!versioned) {
        return std::nullopt;
    }
    return kube::Resource{.group = next == text.size() ? std::string{} : text.substr(next + 1),
                          .version = std::move(version),
                          .plural = text.substr(0, dot),
                          .kind = {}};
}

Result<kube::Reflector::Subject> subject_of(const std::string& kind, const WatchRequest& request) {
    const kube::Selection selection{
        .space = request.space, .labels = request.labels, .fields = request.fields};
    std::vector<std::string> names;
    for (const auto& known : known_kinds()) {
        if (std::find(known.names.begin(), known.names.end(), kind) != known.names.end()) {
            kube::Reflector::Subject subject{.resource = known.resource(), .selection = selection};
            if (*known.labels != '\0') {
                auto& labels = subject.selection.labels;
                labels.insert(0, labels.empty() ? "" : ",");
                labels.insert(0, known.labels);
            }
            return subject;
        }
        names.emplace_back(known.names.front());
    }
    if (auto resource = spelled_out(kind)) {
        return kube::Reflector::Subject{.resource = std::move(*resource), .selection = selection};
    }
    const auto near = nearest(kind, names);
    return fail(Errc::invalid, "debug watch: unknown kind '" + shown(kind) + "'; " +
                                   (near.empty() ? "expected one of " + migration::join(names) +
                                                       ", or PLURAL.VERSION.GROUP"
                                                 : "did you mean '" + near + "'?"));
}

using Informer = kube::Informer<kube::BareObject>;

/// Writes what an informer tells until there is nothing left to write, or to write to.
class Watch {
public:
    Watch(Session& session, std::string kind, asio::io_context& loop, Informer& informer)
        : session_(session),
          kind_(std::move(kind)),
          scope_(loop.get_executor()),
          loop_(loop),
          informer_(informer) {}

    /// Answers the exit code.
    int run(bool until_synced) {
        informer_.on_change([this](const Informer::Change& change) { write(line_of(change)); });
        informer_.on_synced([this, until_synced] {
            WatchLine line;
            line.event = "synced";
            line.kind = kind_;
            line.objects = informer_.size();
            write(line);
            if (until_synced) {
                tell_absence();
                end();
            }
        });
        scope_.spawn("informer", [this] { return informer_.run(); });
        loop_.run();
        return code_;
    }

private:
    [[nodiscard]] WatchLine line_of(const Informer::Change& change) const {
        const auto& meta = change.now ? change.now->meta : change.before->meta;
        return {.event = !change.before ? "add" : (change.now ? "update" : "delete"),
                .kind = kind_,
                .space = meta.space.str(),
                .name = meta.name,
                .uid = meta.uid,
                .version = meta.version,
                .found_by = change.found_by == kube::FoundBy::watch ? "watch" : "list",
                .objects = informer_.size()};
    }

    void write(const WatchLine& line) {
        if (code_ == exit_code::can) {
            code_ = session_.show_event(line);
            if (code_ != exit_code::can) {
                end();
            }
        }
    }

    /// Nothing can come of a kind that the server does not have.
    void tell_absence() {
        const auto& reflector = informer_.reflector();
        if (reflector.state() == kube::ReflectorState::absent) {
            code_ = session_.fail_with({Errc::not_found, reflector.trouble()});
        }
    }

    void end() {
        if (!std::exchange(ending_, true)) {
            asio::co_spawn(loop_, scope_.close(),
                           [this](const std::exception_ptr& /*none*/) { loop_.stop(); });
        }
    }

    Session& session_;
    std::string kind_;
    TaskScope scope_;
    asio::io_context& loop_;
    Informer& informer_;
    int code_ = exit_code::can;
    bool ending_ = false;
};

}  // namespace

int run_debug(Session& session, const Request& request) {
    if (request.subject != "watch") {
        return session.fail_with(
            {Errc::invalid, "debug: expected watch, found '" + shown(request.subject) + "'"});
    }
    auto subject = subject_of(request.target, request.watch_of);
    if (!subject) {
        return session.fail_with(subject.error());
    }
    const auto access = find_access(request.watch_of.access);
    if (!access) {
        return session.fail_with(access.error());
    }
    if (const auto logging = set_up_logging({.level = "info"}, true); !logging) {
        return session.fail_with(logging.error());
    }
    asio::io_context loop(1);
    const auto& clock = session.clock();
    kube::HttpTransport transport(loop.get_executor(), *access, clock);
    auto kind = kube::display_name(subject->resource);
    kube::ReflectorSettings settings;
    settings.seed = std::random_device{}();
    Informer informer(transport, clock, std::move(*subject), &kube::decode_bare, settings);
    return Watch(session, std::move(kind), loop, informer).run(request.watch_of.until_synced);
}

}  // namespace scout::cli
