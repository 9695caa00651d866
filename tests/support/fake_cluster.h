// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kube/transport.h"
#include "tests/support/fake_clock.h"

namespace scout::test {

/// An API server for one kind, as a model: it changes its objects by itself while it is asked, and
/// fails in every way that a watch must bear: broken and silent connections, refusals, expired
/// versions, duplicate and swapped events, cut bodies, a store set back to a backup. After its
/// steps it calms down; once the watcher has been told everything, requests and lines fail with
/// Errc::cancelled.
class FakeCluster final : public kube::Transport {
public:
    struct Object {
        std::string name;
        std::string uid;
        std::uint64_t version = 0;
        std::uint64_t text = 0;
    };
    struct Config {
        std::uint64_t seed = 0;
        unsigned steps = 0;
        bool streams_lists = true;
    };

    FakeCluster(Config config, FakeClock& clock);

    [[nodiscard]] Task<Result<kube::HttpResponse>> send(kube::HttpRequest request,
                                                        std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::unique_ptr<kube::HttpStream>>> open(
        kube::HttpRequest request, std::chrono::milliseconds limit) override;

    /// By name.
    [[nodiscard]] const std::map<std::string, Object>& objects() const noexcept { return objects_; }
    [[nodiscard]] unsigned restores() const noexcept { return epoch_; }

private:
    class Stream;
    struct Event {
        std::uint64_t version;
        std::string line;
    };
    struct Snapshot {
        std::vector<std::string> items;
        std::uint64_t version;
        std::uint64_t epoch;
    };

    void step();
    void mutate();
    void write(const std::string& name, const std::string& uid, const std::string& type);
    void remove(const std::string& name);
    void set_back();
    void told(std::uint64_t version);
    void told_list();
    [[nodiscard]] bool chance(unsigned percent);
    [[nodiscard]] std::uint64_t below(std::uint64_t limit);
    [[nodiscard]] std::vector<std::string> items() const;
    [[nodiscard]] kube::HttpResponse page(const std::string& token);
    [[nodiscard]] std::optional<Errc> connection_fault();
    [[nodiscard]] bool calm() const noexcept { return steps_ == 0; }

    Config config_;
    FakeClock& clock_;
    std::mt19937_64 random_;
    unsigned steps_;
    std::map<std::string, Object> objects_;
    std::uint64_t version_ = 100;
    std::vector<Event> history_;
    std::uint64_t floor_ = 0;  ///< versions below have been compacted
    std::uint64_t uids_ = 0;

    std::map<std::string, Object> backup_;
    std::uint64_t backup_version_ = 100;
    unsigned epoch_ = 0;
    std::uint64_t told_ = 0;  ///< the newest version that the watcher knows
    /// After a restore nothing changes until the watcher can know: numbers that are used again
    /// before that are beyond what any watcher can tell.
    bool frozen_ = false;
    unsigned lists_told_ = 0;
    std::map<std::string, Snapshot> snapshots_;
};

}  // namespace scout::test
