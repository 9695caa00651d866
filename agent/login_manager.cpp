// SPDX-License-Identifier: Apache-2.0
#include "agent/login_manager.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <poll.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/system_text.h"

namespace scout::agent {
namespace {

constexpr const char* service = "org.freedesktop.login1";
constexpr const char* object = "/org/freedesktop/login1";
constexpr const char* interface = "org.freedesktop.login1.Manager";
/// Messages in a row before others of the loop have their turn.
constexpr unsigned most_at_once = 64;

struct CloseBus {
    void operator()(sd_bus* bus) const noexcept { sd_bus_close_unref(bus); }
};
using Bus = std::unique_ptr<sd_bus, CloseBus>;

Error bus_error(std::string_view what, int result) {
    return {.code = Errc::unavailable, .message = std::string{what} + ": " + system_text(-result)};
}

Result<Bus> open_bus(const std::filesystem::path& socket) {
    sd_bus* made = nullptr;
    if (const int result = sd_bus_new(&made); result < 0) {
        return fail(bus_error("a connection to the bus", result));
    }
    Bus bus(made);
    // What has a meaning in an address stands there as %XX.
    std::string address = "unix:path=";
    for (const char c : socket.string()) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '_' || c == '-';
        constexpr std::string_view digits = "0123456789abcdef";
        address +=
            plain ? std::string(1, c) : std::string{'%', digits[byte / 16], digits[byte % 16]};
    }
    int result = sd_bus_set_address(made, address.c_str());
    result = result < 0 ? result : sd_bus_set_bus_client(made, 1);
    result = result < 0 ? result : sd_bus_start(made);
    if (result < 0) {
        return fail(bus_error(socket.string(), result));
    }
    return bus;
}

/// One of the things of a list such as "shutdown:sleep".
bool names_shutdown(std::string_view what) {
    for (;;) {
        const auto end = what.find(':');
        if (what.substr(0, end) == "shutdown") {
            return true;
        }
        if (end == std::string_view::npos) {
            return false;
        }
        what.remove_prefix(end + 1);
    }
}

/// Below zero: it is not what ListInhibitors answers.
int find_kubelet(sd_bus_message* message, bool& found) {
    int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "(ssssuu)");
    while (result >= 0) {
        const char* what = nullptr;
        const char* who = nullptr;
        const char* why = nullptr;
        const char* mode = nullptr;
        std::uint32_t user = 0;
        std::uint32_t process = 0;
        result =
            sd_bus_message_read(message, "(ssssuu)", &what, &who, &why, &mode, &user, &process);
        if (result <= 0) {
            break;
        }
        found = found || (std::string_view{who} == "kubelet" && std::string_view{mode} == "delay" &&
                          names_shutdown(what));
    }
    return result;
}

}  // namespace

/// Called inside sd_bus_process(): they only note what was answered.
struct LoginManagerWatch::Replies {
    static Answers& answers(void* data) { return static_cast<LoginManagerWatch*>(data)->answers_; }

    static bool failed(sd_bus_message* message, void* data) {
        if (sd_bus_message_is_method_error(message, nullptr) == 0) {
            return false;
        }
        const auto* error = sd_bus_message_get_error(message);
        answers(data).fault = error->message != nullptr ? error->message : error->name;
        return true;
    }
    static void not_understood(void* data, const char* what) {
        answers(data).fault = std::string{"its answer is not understood: "} + what;
    }

    static int signal(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
        int begins = 0;
        if (sd_bus_message_read(message, "b", &begins) > 0) {
            answers(data).shutting_down = begins != 0;
        }
        return 0;
    }
    static int watched(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
        static_cast<void>(failed(message, data));
        return 0;
    }
    static int shutting_down(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
        int value = 0;
        if (failed(message, data)) {
            return 0;
        }
        if (sd_bus_message_read(message, "v", "b", &value) < 0) {
            not_understood(data, "PreparingForShutdown");
            return 0;
        }
        answers(data).shutting_down = value != 0;
        return 0;
    }
    static int longest_delay(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
        std::uint64_t value = 0;
        if (failed(message, data)) {
            return 0;
        }
        if (sd_bus_message_read(message, "v", "t", &value) < 0) {
            not_understood(data, "InhibitDelayMaxUSec");
            return 0;
        }
        constexpr std::uint64_t day = 86'400'000'000;
        answers(data).longest_delay =
            std::chrono::microseconds{static_cast<std::int64_t>(std::min(value, day))};
        return 0;
    }
    static int inhibitors(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
        if (failed(message, data)) {
            return 0;
        }
        bool found = false;
        if (find_kubelet(message, found) < 0) {
            not_understood(data, "ListInhibitors");
            return 0;
        }
        answers(data).kubelet_delays = found;
        return 0;
    }

    static int ask(sd_bus* bus, LoginManagerWatch* self) {
        constexpr const char* properties = "org.freedesktop.DBus.Properties";
        int result =
            sd_bus_call_method_async(bus, nullptr, service, object, properties, "Get",
                                     shutting_down, self, "ss", interface, "PreparingForShutdown");
        result = result < 0 ? result
                            : sd_bus_call_method_async(bus, nullptr, service, object, properties,
                                                       "Get", longest_delay, self, "ss", interface,
                                                       "InhibitDelayMaxUSec");
        return result < 0 ? result
                          : sd_bus_call_method_async(bus, nullptr, service, object, interface,
                                                     "ListInhibitors", inhibitors, self, "");
    }
    static int watch(sd_bus* bus, LoginManagerWatch* self) {
        return sd_bus_match_signal_async(bus, nullptr, service, object, interface,
                                         "PrepareForShutdown", signal, watched, self);
    }
};

Task<> LoginManagerWatch::run() {
    Backoff backoff(static_cast<std::uint64_t>(::getpid()));
    asio::steady_timer timer(parts_.loop);
    for (;;) {
        answers_ = {};
        const auto error = co_await follow();
        if (state_ && !state_->shutting_down) {
            backoff.reset();
            state_.reset();
        }
        set_trouble(error.message);
        timer.expires_after(backoff.next());
        co_await timer.async_wait(as_result);
    }
}

Task<Error> LoginManagerWatch::follow() {
    auto bus = open_bus(parts_.socket);
    if (!bus) {
        co_return std::move(bus.error());
    }
    // Watched before it is asked, so that no change falls between both.
    if (const int result = Replies::watch(bus->get(), this); result < 0) {
        co_return bus_error("logind cannot be watched", result);
    }
    auto ask_at = SteadyTime::clock::now();
    for (unsigned handled = 0;; ++handled) {
        if (SteadyTime::clock::now() >= ask_at) {
            ask_at = SteadyTime::clock::now() + parts_.again;
            if (const int result = Replies::ask(bus->get(), this); result < 0) {
                co_return bus_error("logind cannot be asked", result);
            }
        }
        const int result = sd_bus_process(bus->get(), nullptr);
        if (result < 0) {
            co_return bus_error("the bus is gone", result);
        }
        take();
        if (result == 0 || handled % most_at_once == 0) {
            co_await wait(bus->get(), result == 0 ? ask_at : SteadyTime::clock::now());
        }
    }
}

Task<> LoginManagerWatch::wait(sd_bus* bus, SteadyTime until) {
    using namespace asio::experimental::awaitable_operators;
    using asio::posix::stream_descriptor;
    std::uint64_t limit_us = 0;
    if (sd_bus_get_timeout(bus, &limit_us) > 0 && limit_us != UINT64_MAX) {
        // Both count the monotonic clock.
        until = std::min(until, SteadyTime{std::chrono::microseconds{limit_us}});
    }
    asio::steady_timer timer(parts_.loop, until);
    stream_descriptor socket(parts_.loop, ::dup(sd_bus_get_fd(bus)));
    if ((sd_bus_get_events(bus) & POLLOUT) != 0) {
        co_await (socket.async_wait(stream_descriptor::wait_read, as_result) ||
                  socket.async_wait(stream_descriptor::wait_write, as_result) ||
                  timer.async_wait(as_result));
    } else {
        co_await (socket.async_wait(stream_descriptor::wait_read, as_result) ||
                  timer.async_wait(as_result));
    }
}

void LoginManagerWatch::take() {
    if (!answers_.fault.empty()) {
        set_trouble("logind: " + std::exchange(answers_.fault, {}));
    }
    const auto& [down, delays, longest, fault] = answers_;
    if (!down || !delays || !longest) {
        return;
    }
    migration::LoginManager now{
        .shutting_down = *down, .kubelet_delays = *delays, .longest_delay = *longest};
    if (now.shutting_down && state_) {
        now.kubelet_delays = state_->kubelet_delays;
    }
    if (state_ != now || !trouble_.empty()) {
        state_ = now;
        trouble_.clear();
        parts_.changed();
    }
}

void LoginManagerWatch::set_trouble(std::string trouble) {
    if (trouble_ != trouble) {
        trouble_ = std::move(trouble);
        parts_.changed();
    }
}

}  // namespace scout::agent
