// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/fake_login_manager.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <stdexcept>
#include <string>

#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tests/support/wait_until.h"

namespace scout::test {
namespace {

constexpr const char* object = "/org/freedesktop/login1";
constexpr const char* interface = "org.freedesktop.login1.Manager";

void must(int result, const char* what) {
    if (result < 0) {
        throw std::runtime_error(std::string{what} + ": " + std::to_string(result));
    }
}

FakeLoginManager& manager(void* data) {
    return *static_cast<FakeLoginManager*>(data);
}

int refuse(FakeLoginManager& self, sd_bus_error* error) {
    return self.refuses ? sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, "not for you") : 0;
}

int get_preparing(sd_bus* /*bus*/, const char* /*path*/, const char* /*interface*/,
                  const char* /*name*/, sd_bus_message* reply, void* data, sd_bus_error* error) {
    const int refused = refuse(manager(data), error);
    return refused < 0 ? refused
                       : sd_bus_message_append(reply, "b", manager(data).preparing ? 1 : 0);
}

int get_delay(sd_bus* /*bus*/, const char* /*path*/, const char* /*interface*/,
              const char* /*name*/, sd_bus_message* reply, void* data, sd_bus_error* /*error*/) {
    return sd_bus_message_append(reply, "t",
                                 static_cast<std::uint64_t>(manager(data).longest_delay_us));
}

/// As on a node: others hold locks too, and NetworkManager's is for sleep.
int list_inhibitors(sd_bus_message* call, void* data, sd_bus_error* /*error*/) {
    sd_bus_message* reply = nullptr;
    must(sd_bus_message_new_method_return(call, &reply), "reply");
    must(sd_bus_message_open_container(reply, 'a', "(ssssuu)"), "array");
    must(sd_bus_message_append(reply, "(ssssuu)", "sleep", "NetworkManager", "networks", "delay",
                               0U, 700U),
         "entry");
    must(sd_bus_message_append(reply, "(ssssuu)", "shutdown", "someone", "an upgrade", "block", 0U,
                               701U),
         "entry");
    if (manager(data).kubelet_delays) {
        must(sd_bus_message_append(reply, "(ssssuu)", "sleep:shutdown", "kubelet",
                                   "Kubernetes needs time to handle node shutdown", "delay", 0U,
                                   702U),
             "entry");
    }
    must(sd_bus_message_close_container(reply), "array");
    const int sent = sd_bus_send(nullptr, reply, nullptr);
    sd_bus_message_unref(reply);
    return sent < 0 ? sent : 1;
}

/// The socket is there a moment before anybody listens at it.
bool is_served(const std::filesystem::path& socket) {
    const UniqueFd descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = socket.string().substr(0, sizeof(address.sun_path) - 1);
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    return ::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)) == 0;
}

const std::array vtable{
    sd_bus_vtable SD_BUS_VTABLE_START(0),
    sd_bus_vtable SD_BUS_PROPERTY("PreparingForShutdown", "b", get_preparing, 0, 0),
    sd_bus_vtable SD_BUS_PROPERTY("InhibitDelayMaxUSec", "t", get_delay, 0, 0),
    sd_bus_vtable SD_BUS_METHOD("ListInhibitors", "", "a(ssssuu)", list_inhibitors,
                                SD_BUS_VTABLE_UNPRIVILEGED),
    sd_bus_vtable SD_BUS_SIGNAL("PrepareForShutdown", "b", 0),
    sd_bus_vtable SD_BUS_VTABLE_END,
};

}  // namespace

std::unique_ptr<SystemBus> SystemBus::start() {
    std::unique_ptr<SystemBus> bus(new SystemBus);
    const auto config = bus->folder_.write(
        "bus.conf",
        "<busconfig><type>system</type><listen>unix:path=" + bus->socket().string() +
            "</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow user=\"*\"/>"
            "<allow own=\"*\"/><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>"
            "</policy></busconfig>");
    const std::string file = "--config-file=" + config.string();
    std::array<const char*, 5> argv{"dbus-daemon", file.c_str(), "--nofork", "--nopidfile",
                                    nullptr};
    if (::posix_spawnp(&bus->child_, argv[0], nullptr, nullptr,
                       const_cast<char* const*>(argv.data()), ::environ) != 0) {
        return nullptr;
    }
    return wait_until([&bus] { return is_served(bus->socket()); }) ? std::move(bus) : nullptr;
}

SystemBus::~SystemBus() {
    stop();
}

void SystemBus::stop() {
    if (child_ > 0) {
        ::kill(child_, SIGTERM);
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }
}

FakeLoginManager::FakeLoginManager(const std::filesystem::path& socket)
    : thread_([this, socket] { serve(socket); }) {
    static_cast<void>(wait_until([this] { return ready_.load(); }));
}

FakeLoginManager::~FakeLoginManager() {
    stop_ = true;
    thread_.join();
}

void FakeLoginManager::prepare(bool begins) {
    preparing = begins;
    signal_due_ = true;
}

void FakeLoginManager::serve(const std::filesystem::path& socket) {
    sd_bus* bus = nullptr;
    must(sd_bus_new(&bus), "bus");
    must(sd_bus_set_address(bus, ("unix:path=" + socket.string()).c_str()), "address");
    must(sd_bus_set_bus_client(bus, 1), "client");
    must(sd_bus_start(bus), "start");
    must(sd_bus_add_object_vtable(bus, nullptr, object, interface, vtable.data(), this), "object");
    must(sd_bus_request_name(bus, "org.freedesktop.login1", 0), "name");
    ready_ = true;
    while (!stop_) {
        if (signal_due_.exchange(false)) {
            sd_bus_emit_signal(bus, object, interface, "PrepareForShutdown", "b",
                               preparing ? 1 : 0);
        }
        const int handled = sd_bus_process(bus, nullptr);
        if (handled < 0) {
            break;  // the bus was stopped
        }
        if (handled == 0) {
            sd_bus_wait(bus, 5'000);
        }
    }
    sd_bus_flush_close_unref(bus);
}

}  // namespace scout::test
