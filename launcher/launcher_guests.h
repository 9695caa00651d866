// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/alarm.h"
#include "base/clock.h"
#include "base/folder_watch.h"
#include "base/offload.h"
#include "base/task_scope.h"
#include "launcher/launcher_client.h"
#include "launcher/launcher_table.h"
#include "launcher/launchers.h"
#include "libvirt_glue/guest_inventory.h"
#include "libvirt_glue/subscribers.h"
#include "wire/unary_channel.h"

namespace scout::launcher {

struct LauncherConfig {
    std::filesystem::path pods_dir;  ///< the kubelet's folder of pods, as this process sees it
    AskPolicy ask;
    CallLimits calls;
    /// The folders are looked at so often, also if no notice of a change comes.
    std::chrono::milliseconds look{30'000};
    /// All that is known is compared anew so often; as virt-handler does (dossier §2).
    std::chrono::milliseconds resync{300'000};
};

/// The guests of a KubeVirt node, one libvirt in each launcher pod (dossier §1): the launchers are
/// found by their folders, asked in turn, and told as any hypervisor's guests. Names are
/// "NAMESPACE/NAME". Loop thread; nothing blocks it, and no launcher keeps the others waiting.
///
/// What it finds is told with FoundBy::resync: a launcher tells nothing by itself. `unreachable`
/// means that the folder of pods cannot be read; single launchers show in their guests alone.
class LauncherGuests final : public hypervisor::Hypervisor, public Launchers {
public:
    /// pool and clock must outlive it, and the loop its calls.
    LauncherGuests(LauncherConfig config, asio::any_io_executor loop, BlockingPool& pool,
                   const Clock& clock);

    /// Refused: what such a node can run is judged by other sources.
    [[nodiscard]] Task<Result<hypervisor::HostDocuments>> probe() override;
    [[nodiscard]] Result<std::vector<hypervisor::GuestState>> guests() const override;
    [[nodiscard]] Task<Status> resync() override;
    [[nodiscard]] hypervisor::Subscription subscribe(
        std::function<void(const hypervisor::GuestEvent&)> handler) override {
        return events_.add(std::move(handler));
    }
    [[nodiscard]] hypervisor::Subscription watch_connection(
        std::function<void(const hypervisor::Connection&)> handler) override {
        return watchers_.add(std::move(handler));
    }
    [[nodiscard]] hypervisor::Connection connection() const override { return state_; }
    [[nodiscard]] hypervisor::Counters counters() const override { return counters_; }
    [[nodiscard]] Task<> run() override;

    [[nodiscard]] const LauncherTable& launchers() const noexcept override { return table_; }
    [[nodiscard]] bool looked() const noexcept override { return looked_; }
    [[nodiscard]] hypervisor::Subscription watch_launchers(
        std::function<void(const LauncherTable&)> handler) override {
        return news_.add(std::move(handler));
    }
    [[nodiscard]] Task<> ask_now(std::vector<std::string> pods,
                                 std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::optional<DomainStats>>> stats(std::string pod_uid) override;
    [[nodiscard]] Task<Result<std::uint64_t>> dirty_rate(std::string pod_uid) override;

private:
    /// The connection to one launcher.
    struct Link {
        LauncherSocket socket;
        std::unique_ptr<LauncherClient> client;
        bool shaken = false;  ///< hands
    };
    struct Waiter {
        Waiter(const asio::any_io_executor& loop, SteadyTime from) : done(loop), since(from) {}
        asio::steady_timer done;
        SteadyTime since;
        std::optional<Status> outcome;
    };
    /// Who waits for the answers of some launchers alone.
    struct Prompt {
        Prompt(const asio::any_io_executor& loop, std::vector<std::string> of, SteadyTime from)
            : done(loop), pods(std::move(of)), since(from) {}
        asio::steady_timer done;
        std::vector<std::string> pods;
        SteadyTime since;
    };

    Task<> follow_folders();
    Task<> ask_in_turn();
    Task<> ask(Question question);
    Task<Result<std::optional<Domain>>> domain_of(LauncherSocket socket);
    Task<Result<std::shared_ptr<Link>>> link_to(LauncherSocket socket);
    Task<Result<std::shared_ptr<Link>>> link_to_pod(std::string pod_uid);
    void drop(const std::shared_ptr<Link>& link);
    void looked(const std::vector<LauncherSocket>& found);
    void lost(const Error& error);
    void count(const Question& question, const Result<std::optional<Domain>>& answer);
    void publish();
    void publish_if_due();
    void end_waits();
    [[nodiscard]] bool is_answered(const Prompt& prompt) const;
    void end_prompts();
    void tell(const std::vector<hypervisor::GuestEvent>& events);
    [[nodiscard]] bool may_publish() const;
    [[nodiscard]] std::chrono::milliseconds until_next() const;

    LauncherConfig config_;
    asio::any_io_executor loop_;
    BlockingPool& pool_;
    const Clock& clock_;
    wire::CallHome home_;
    LauncherTable table_;
    hypervisor::GuestInventory inventory_;
    hypervisor::Connection state_;
    hypervisor::Counters counters_;
    hypervisor::Subscribers<hypervisor::GuestEvent> events_;
    hypervisor::Subscribers<hypervisor::Connection> watchers_;
    std::map<std::string, std::shared_ptr<Link>, std::less<>> links_;  ///< by pod UID
    hypervisor::Subscribers<LauncherTable> news_;
    std::vector<std::shared_ptr<Waiter>> waiters_;
    std::vector<std::shared_ptr<Prompt>> prompts_;
    FolderWatch folders_;
    Alarm turn_;
    std::unique_ptr<TaskScope> scope_;
    bool looked_ = false;  ///< the folder of pods could be read, last time
    bool changed_ = true;  ///< since it was published
    SteadyTime publish_at_{};
    SteadyTime resync_at_{};
};

}  // namespace scout::launcher
