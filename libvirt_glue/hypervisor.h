// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "libvirt_glue/guest_event.h"

/// The port to the hypervisor of one host: plain structs, no libvirt type. The adapter is
/// `libvirt_glue/libvirt_hypervisor.h`; tests have a fake.
namespace scout::hypervisor {

/// Domain capabilities for one machine type, as the hypervisor printed them.
struct MachineDocument {
    std::string arch;     ///< libvirt's name, "x86_64"
    std::string machine;  ///< as asked for: "q35", "pc", "virt", "s390-ccw-virtio"; empty: default
    std::string xml;      ///< at most 4 MiB
    bool expanded = false;  ///< host-model with all its features (libvirt 12.2 and later)

    friend bool operator==(const MachineDocument&, const MachineDocument&) = default;
};

/// Everything that one probe read, unparsed. documents::assemble() makes a profile of it, see
/// `libvirt_glue/node_documents.h`.
struct HostDocuments {
    std::string uri;        ///< that was asked
    std::string virt_type;  ///< "kvm", or "qemu" for emulation
    std::string kvm_note;   ///< why KVM is not used; empty if it is
    std::string arch;       ///< of the host
    /// The machine types that matter on this architecture (x86: q35, pc; aarch64: virt; s390x:
    /// s390-ccw-virtio), most important first; never empty. KubeVirt's labeller asks for the first
    /// one (dossier §5.1).
    std::vector<MachineDocument> domain_capabilities;
    /// hypervisor-cpu-baseline of the host-model with features expanded (dossier §5.1:
    /// `supported_features.xml`). Empty where libvirt has none (aarch64, emulation without a
    /// host-model); then a note says why.
    std::string supported_features;
    std::string capabilities;        ///< `virsh capabilities`: TSC, NUMA
    std::string libvirt_version;     ///< "9.0.0", of the side that answered
    std::string hypervisor_version;  ///< "7.2.19" (QEMU); empty if libvirt does not know it
    std::vector<std::string> notes;  ///< for people: what was left out, and why

    friend bool operator==(const HostDocuments&, const HostDocuments&) = default;
};

/// Whether guests can be seen.
enum class Reach : std::uint8_t {
    not_kept,     ///< no guests live behind this URI (embedded driver, used for probes only)
    connecting,   ///< not reached since start
    connected,    ///< guests are known, events flow
    unreachable,  ///< was connected; every guest's state is unknown since then, none is gone
};
[[nodiscard]] std::string_view to_string(Reach reach) noexcept;

struct Connection {
    Reach reach = Reach::connecting;
    WallTime since{};            ///< of this reach
    std::string reason;          ///< last error; empty once connected and read
    std::uint64_t attempts = 0;  ///< failed in a row

    friend bool operator==(const Connection&, const Connection&) = default;
};

/// Since the start; for metrics.
struct Counters {
    std::uint64_t reconnects = 0;  ///< connections that were opened after the first
    std::uint64_t resyncs = 0;     ///< full lists read
    std::uint64_t stuck_calls =
        0;  ///< calls abandoned at their limit; at most one runs on at a time
    std::uint64_t lost_events = 0;  ///< dropped because the loop did not keep up; cause a resync
};

/// Ends its subscription when it goes. Loop thread. May outlive the hypervisor.
class Subscription {
public:
    Subscription() = default;
    explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
    ~Subscription() { reset(); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    Subscription(Subscription&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    Subscription& operator=(Subscription&& other) noexcept {
        if (this != &other) {
            reset();
            end_ = std::exchange(other.end_, nullptr);
        }
        return *this;
    }

    void reset() {
        if (auto end = std::exchange(end_, nullptr)) {
            end();
        }
    }

private:
    std::function<void()> end_;
};

/// One host's hypervisor.
///
/// All members are called on the loop thread and none blocks it. run() must be going (in a
/// TaskScope of the owner) for guests and events; probe() works without. The object must outlive
/// both, and its subscribers' handlers.
class Hypervisor {
public:
    Hypervisor() = default;
    virtual ~Hypervisor() = default;
    Hypervisor(const Hypervisor&) = delete;
    Hypervisor& operator=(const Hypervisor&) = delete;
    Hypervisor(Hypervisor&&) = delete;
    Hypervisor& operator=(Hypervisor&&) = delete;

    /// Asks what this host can run; seconds, at most the adapter's limit (60 s). Errors:
    /// unavailable (no libvirt, no driver, an earlier probe is stuck), timed_out, cancelled,
    /// invalid (an answer that can't be used). One probe at a time: a second call is refused
    /// (Errc::refused) while one is going.
    [[nodiscard]] virtual Task<Result<HostDocuments>> probe() = 0;

    /// The guests as known now, from memory, sorted by UUID. While unreachable: the last known
    /// ones, each `unknown`. Errors: unavailable before the first contact (reason and since when).
    /// Empty with Reach::not_kept.
    [[nodiscard]] virtual Result<std::vector<GuestState>> guests() const = 0;

    /// Reads the full list again; differences are emitted, found by resync. Errors: unavailable,
    /// timed_out, cancelled.
    [[nodiscard]] virtual Task<Status> resync() = 0;

    /// Calls the handler for every event from now on, on the loop thread, never from within
    /// subscribe(). What is there already is in guests(). The handler must not throw and must not
    /// destroy the hypervisor.
    [[nodiscard]] virtual Subscription subscribe(
        std::function<void(const GuestEvent&)> handler) = 0;

    /// Calls the handler after every change of connection().
    [[nodiscard]] virtual Subscription watch_connection(
        std::function<void(const Connection&)> handler) = 0;

    [[nodiscard]] virtual Connection connection() const = 0;
    [[nodiscard]] virtual Counters counters() const = 0;

    /// Keeps the connection: opens, re-opens with jittered back-off, follows events. Returns when
    /// cancelled, after letting go of the connection.
    [[nodiscard]] virtual Task<> run() = 0;
};

}  // namespace scout::hypervisor
