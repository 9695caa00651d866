// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_hypervisor.h"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace scout::test {

using hypervisor::Connection;
using hypervisor::GuestEvent;
using hypervisor::GuestState;
using hypervisor::HostDocuments;
using hypervisor::Subscription;

FakeHypervisor::FakeHypervisor(asio::any_io_executor loop, BlockingPool& pool)
    : documents(example_documents()),
      loop_(std::move(loop)),
      pool_(pool),
      guest_handlers_(std::make_shared<Handlers<GuestEvent>>()),
      connection_handlers_(std::make_shared<Handlers<Connection>>()) {
    state.reach = hypervisor::Reach::connected;
}

FakeHypervisor::~FakeHypervisor() {
    release();
}

void FakeHypervisor::change(GuestState guest) {
    std::erase_if(running, [&guest](const auto& known) { return known.uuid == guest.uuid; });
    GuestEvent event{.uuid = guest.uuid, .name = guest.name, .state = guest.state};
    running.push_back(std::move(guest));
    emit(std::move(event));
}

void FakeHypervisor::remove(const std::string& uuid, hypervisor::FoundBy found_by, WallTime since) {
    std::erase_if(running, [&uuid](const auto& known) { return known.uuid == uuid; });
    emit({.kind = hypervisor::EventKind::removed,
          .uuid = uuid,
          .since = since,
          .found_by = found_by});
}

void FakeHypervisor::set_connection(Connection connection) {
    state = std::move(connection);
    for (const auto& [id, handler] : Handlers<Connection>(*connection_handlers_)) {
        handler(state);
    }
}

bool FakeHypervisor::is_stuck() const {
    const std::lock_guard guard(gate_->lock);
    return gate_->reached;
}

void FakeHypervisor::release() {
    const std::lock_guard guard(gate_->lock);
    gate_->open = true;
    gate_->opened.notify_all();
}

Task<Result<HostDocuments>> FakeHypervisor::probe() {
    ++probes;
    if (stuck) {
        auto work = [gate = gate_]() -> Status {
            std::unique_lock guard(gate->lock);
            gate->reached = true;
            gate->opened.wait(guard, [&gate] { return gate->open; });
            return {};
        };
        const std::chrono::hours limit{1};
        co_await offload(pool_, limit, std::move(work));
        co_return fail(Errc::cancelled, "the probe was stuck");
    }
    // As an adapter that ends a child process whatever happens.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_return documents;
}

Result<std::vector<GuestState>> FakeHypervisor::guests() const {
    if (state.reach == hypervisor::Reach::connecting) {
        return fail(Errc::unavailable, state.reason);
    }
    return running;
}

Task<Status> FakeHypervisor::resync() {
    co_return Status{};
}

Subscription FakeHypervisor::subscribe(std::function<void(const GuestEvent&)> handler) {
    const auto id = next_handler_++;
    guest_handlers_->emplace(id, std::move(handler));
    return Subscription([handlers = guest_handlers_, id] { handlers->erase(id); });
}

Subscription FakeHypervisor::watch_connection(std::function<void(const Connection&)> handler) {
    const auto id = next_handler_++;
    connection_handlers_->emplace(id, std::move(handler));
    return Subscription([handlers = connection_handlers_, id] { handlers->erase(id); });
}

Task<> FakeHypervisor::run() {
    asio::steady_timer timer(loop_, std::chrono::hours{24});
    co_await timer.async_wait(as_result);
}

void FakeHypervisor::emit(GuestEvent event) {
    for (const auto& [id, handler] : Handlers<GuestEvent>(*guest_handlers_)) {
        handler(event);
    }
}

std::string example_domain_capabilities(const std::string& model, const std::string& feature) {
    return "<domainCapabilities><path>/usr/bin/qemu-system-x86_64</path><domain>kvm</domain>"
           "<machine>pc-q35-7.2</machine><arch>x86_64</arch><cpu>"
           "<mode name='host-model' supported='yes'><model fallback='forbid'>" +
           model + "</model><vendor>Intel</vendor><feature policy='require' name='" + feature +
           "'/></mode><mode name='custom' supported='yes'>"
           "<model usable='yes' vendor='Intel'>" +
           model + "</model></mode></cpu></domainCapabilities>";
}

HostDocuments example_documents(const std::string& model, const std::string& feature) {
    HostDocuments documents;
    documents.uri = "qemu:///embed";
    documents.virt_type = "kvm";
    documents.arch = "x86_64";
    documents.domain_capabilities = {
        {.arch = "x86_64", .machine = "q35", .xml = example_domain_capabilities(model, feature)}};
    documents.libvirt_version = "9.0.0";
    documents.hypervisor_version = "7.2.19";
    return documents;
}

GuestState example_guest(const std::string& uuid, const std::string& state) {
    GuestState guest;
    guest.uuid = uuid;
    guest.name = "guest-" + uuid;
    guest.state = state;
    guest.memory_kib = 2048;
    return guest;
}

}  // namespace scout::test
