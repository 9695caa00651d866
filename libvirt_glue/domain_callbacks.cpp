// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/domain_callbacks.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "libvirt_glue/errors.h"
#include "libvirt_glue/library.h"

namespace scout::libvirt_glue {
namespace {

using hypervisor::EventKind;
using hypervisor::GuestEvent;
using hypervisor::IncomingEvent;
using hypervisor::JobSummary;
using hypervisor::Lifecycle;

/// These two read the handle itself; no call goes to the daemon.
std::string uuid_of(virDomainPtr domain) {
    std::array<char, VIR_UUID_STRING_BUFLEN> uuid{};
    return libvirt().virDomainGetUUIDString(domain, uuid.data()) < 0 ? std::string() : uuid.data();
}

std::string name_of(virDomainPtr domain) {
    const char* name = libvirt().virDomainGetName(domain);
    return name == nullptr ? std::string() : name;
}

template <class What>
void put(void* opaque, What what) {
    const auto* context = static_cast<const CallbackContext*>(opaque);
    Arrival arrival;
    arrival.connection = context->connection;
    arrival.what = std::move(what);
    context->mailbox->put(std::move(arrival));
}

GuestEvent event_for(virDomainPtr domain, EventKind kind) {
    GuestEvent event;
    event.kind = kind;
    event.uuid = uuid_of(domain);
    event.name = name_of(domain);
    return event;
}

/// Words for libvirt's lifecycle events and their details, by their numbers.
struct LifecycleWords {
    Lifecycle lifecycle;
    std::array<std::string_view, 9> details;
};

std::optional<LifecycleWords> lifecycle_words(int event) {
    switch (event) {
        case VIR_DOMAIN_EVENT_DEFINED:
            return LifecycleWords{Lifecycle::defined,
                                  {"defined", "redefined", "renamed", "from snapshot"}};
        case VIR_DOMAIN_EVENT_UNDEFINED:
            return LifecycleWords{Lifecycle::undefined, {"undefined", "renamed"}};
        case VIR_DOMAIN_EVENT_STARTED:
            return LifecycleWords{Lifecycle::started,
                                  {"booted", "migrated", "restored", "from snapshot", "wakeup"}};
        case VIR_DOMAIN_EVENT_SUSPENDED:
            return LifecycleWords{Lifecycle::suspended,
                                  {"paused", "migrated", "I/O error", "watchdog", "restored",
                                   "from snapshot", "API error", "post-copy", "post-copy failed"}};
        case VIR_DOMAIN_EVENT_RESUMED:
            return LifecycleWords{
                Lifecycle::resumed,
                {"unpaused", "migrated", "from snapshot", "post-copy", "post-copy failed"}};
        case VIR_DOMAIN_EVENT_STOPPED:
            return LifecycleWords{Lifecycle::stopped,
                                  {"shut down", "destroyed", "crashed", "migrated", "saved",
                                   "failed", "from snapshot"}};
        case VIR_DOMAIN_EVENT_SHUTDOWN:
            return LifecycleWords{Lifecycle::shutdown, {"finished", "by guest", "by host"}};
        case VIR_DOMAIN_EVENT_PMSUSPENDED:
            return LifecycleWords{Lifecycle::pm_suspended, {"to memory", "to disk"}};
        case VIR_DOMAIN_EVENT_CRASHED:
            return LifecycleWords{Lifecycle::crashed, {"panicked", "crash loaded"}};
        default:
            return std::nullopt;
    }
}

int on_lifecycle(virConnectPtr, virDomainPtr domain, int event, int detail, void* opaque) {
    const auto words = lifecycle_words(event);
    // A rename shows as undefined and defined; the guest stays the same one.
    const bool half_rename =
        event == VIR_DOMAIN_EVENT_UNDEFINED && detail == VIR_DOMAIN_EVENT_UNDEFINED_RENAMED;
    if (!words || half_rename) {
        return 0;
    }
    IncomingEvent incoming;
    incoming.uuid = uuid_of(domain);
    incoming.name = name_of(domain);
    incoming.lifecycle = words->lifecycle;
    if (detail >= 0 && std::cmp_less(detail, words->details.size())) {
        incoming.detail = words->details.at(static_cast<std::size_t>(detail));
    }
    put(opaque, std::move(incoming));
    return 0;
}

void on_reboot(virConnectPtr, virDomainPtr domain, void* opaque) {
    put(opaque, event_for(domain, EventKind::rebooted));
}

void on_iteration(virConnectPtr, virDomainPtr domain, int iteration, void* opaque) {
    auto event = event_for(domain, EventKind::migration_iteration);
    event.iteration = iteration < 0 ? 0 : static_cast<std::uint64_t>(iteration);
    put(opaque, std::move(event));
}

std::string_view operation_name(int operation) {
    constexpr std::array<std::string_view, 11> names{
        "unknown",  "start",           "save", "restore", "migration-in",   "migration-out",
        "snapshot", "snapshot-revert", "dump", "backup",  "snapshot-delete"};
    const bool listed = operation >= 0 && std::cmp_less(operation, names.size());
    return listed ? names.at(static_cast<std::size_t>(operation)) : names.front();
}

void on_job(virConnectPtr, virDomainPtr domain, virTypedParameterPtr params, int count,
            void* opaque) {
    const auto number = [params, count](const char* name) {
        unsigned long long value = 0;
        static_cast<void>(libvirt().virTypedParamsGetULLong(params, count, name, &value));
        return static_cast<std::uint64_t>(value);
    };
    int operation = VIR_DOMAIN_JOB_OPERATION_UNKNOWN;
    static_cast<void>(
        libvirt().virTypedParamsGetInt(params, count, VIR_DOMAIN_JOB_OPERATION, &operation));
    int success = 0;
    static_cast<void>(
        libvirt().virTypedParamsGetBoolean(params, count, VIR_DOMAIN_JOB_SUCCESS, &success));
    const char* message = nullptr;
    static_cast<void>(
        libvirt().virTypedParamsGetString(params, count, VIR_DOMAIN_JOB_ERRMSG, &message));

    JobSummary job;
    job.success = success != 0;
    job.operation = operation_name(operation);
    job.elapsed_ms = number(VIR_DOMAIN_JOB_TIME_ELAPSED);
    job.downtime_ms = number(VIR_DOMAIN_JOB_DOWNTIME);
    job.total_bytes = number(VIR_DOMAIN_JOB_DATA_TOTAL);
    job.processed_bytes = number(VIR_DOMAIN_JOB_DATA_PROCESSED);
    auto event = event_for(domain, EventKind::job_completed);
    event.detail = message == nullptr ? job.operation : message;
    event.job = std::move(job);
    put(opaque, std::move(event));
}

void on_device_removed(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) {
    auto event = event_for(domain, EventKind::device_removed);
    event.detail = alias == nullptr ? "" : alias;
    put(opaque, std::move(event));
}

void on_agent(virConnectPtr, virDomainPtr domain, int state, int, void* opaque) {
    auto event = event_for(domain, EventKind::agent_changed);
    event.detail = state == VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
                       ? "connected"
                       : "disconnected";
    put(opaque, std::move(event));
}

void free_context(void* opaque) {
    delete static_cast<CallbackContext*>(opaque);
}

/// libvirt takes callbacks of every kind by one type, and calls each as what its id says. By way of
/// the type that compilers take for "any function".
template <class Callback>
virConnectDomainEventGenericCallback generic(Callback* callback) {
    return reinterpret_cast<virConnectDomainEventGenericCallback>(
        reinterpret_cast<void (*)()>(callback));
}

struct Wanted {
    int id;
    virConnectDomainEventGenericCallback callback;
};

}  // namespace

Status register_domain_callbacks(virConnectPtr connection, const CallbackContext& context,
                                 std::vector<int>& ids) {
    const std::array wanted{
        Wanted{VIR_DOMAIN_EVENT_ID_LIFECYCLE, generic(on_lifecycle)},
        Wanted{VIR_DOMAIN_EVENT_ID_REBOOT, generic(on_reboot)},
        Wanted{VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION, generic(on_iteration)},
        Wanted{VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, generic(on_job)},
        Wanted{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, generic(on_device_removed)},
        Wanted{VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, generic(on_agent)},
    };
    for (const auto& [id, callback] : wanted) {
        auto own = std::make_unique<CallbackContext>(context);
        const int registered = libvirt().virConnectDomainEventRegisterAny(
            connection, nullptr, id, callback, own.get(), free_context);
        if (registered >= 0) {
            // libvirt frees it from now on.
            static_cast<void>(own.release());
            ids.push_back(registered);
        } else if (id == VIR_DOMAIN_EVENT_ID_LIFECYCLE) {
            return fail(last_error("register for events"));
        }
    }
    return {};
}

}  // namespace scout::libvirt_glue
