// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/offload.h"
#include "libvirt_glue/hypervisor.h"

namespace scout::test {

/// A hypervisor whose answers the test sets. Loop thread, as the port.
class FakeHypervisor final : public hypervisor::Hypervisor {
public:
    FakeHypervisor(asio::any_io_executor loop, BlockingPool& pool);
    ~FakeHypervisor() override;
    FakeHypervisor(const FakeHypervisor&) = delete;
    FakeHypervisor& operator=(const FakeHypervisor&) = delete;
    FakeHypervisor(FakeHypervisor&&) = delete;
    FakeHypervisor& operator=(FakeHypervisor&&) = delete;

    Result<hypervisor::HostDocuments> documents;  ///< what a probe answers
    bool stuck = false;  ///< a probe blocks its pool thread until release(), and never answers
    std::vector<hypervisor::GuestState> running;
    hypervisor::Connection state;
    hypervisor::Counters counted;
    unsigned probes = 0;

    /// Sets the guest and tells the subscribers.
    void change(hypervisor::GuestState guest);
    void remove(const std::string& uuid, hypervisor::FoundBy found_by = hypervisor::FoundBy::event,
                WallTime since = {});
    void set_connection(hypervisor::Connection connection);
    /// Lets stuck calls return.
    void release();
    /// A probe is in the pool's thread, and blocks it.
    [[nodiscard]] bool is_stuck() const;

    Task<Result<hypervisor::HostDocuments>> probe() override;
    [[nodiscard]] Result<std::vector<hypervisor::GuestState>> guests() const override;
    Task<Status> resync() override;
    [[nodiscard]] hypervisor::Subscription subscribe(
        std::function<void(const hypervisor::GuestEvent&)> handler) override;
    [[nodiscard]] hypervisor::Subscription watch_connection(
        std::function<void(const hypervisor::Connection&)> handler) override;
    [[nodiscard]] hypervisor::Connection connection() const override { return state; }
    [[nodiscard]] hypervisor::Counters counters() const override { return counted; }
    Task<> run() override;

private:
    struct Gate {
        std::mutex lock;
        std::condition_variable opened;
        bool open = false;
        bool reached = false;
    };
    template <class T>
    using Handlers = std::map<std::uint64_t, std::function<void(const T&)>>;

    void emit(hypervisor::GuestEvent event);

    asio::any_io_executor loop_;
    BlockingPool& pool_;
    std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
    std::shared_ptr<Handlers<hypervisor::GuestEvent>> guest_handlers_;
    std::shared_ptr<Handlers<hypervisor::Connection>> connection_handlers_;
    std::uint64_t next_handler_ = 0;
};

/// A probe's documents for an Intel host under KVM, small and ours. `model` is its host-model;
/// `feature` one that it requires.
[[nodiscard]] hypervisor::HostDocuments example_documents(
    const std::string& model = "Skylake-Client", const std::string& feature = "vmx");
/// The domain capabilities alone.
[[nodiscard]] std::string example_domain_capabilities(const std::string& model,
                                                      const std::string& feature);

[[nodiscard]] hypervisor::GuestState example_guest(const std::string& uuid,
                                                   const std::string& state = "running");

}  // namespace scout::test
