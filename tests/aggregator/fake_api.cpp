// SPDX-License-Identifier: Apache-2.0
#include "tests/aggregator/fake_api.h"

#include <utility>

#include <boost/json/serialize.hpp>

#include "tests/support/padded_line.h"
#include "tests/support/scripted_transport.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// "/apis/kubevirt.io/v1/virtualmachineinstances?…": the last part of the path.
std::string plural_of(const std::string& target) {
    const auto path = target.substr(0, target.find('?'));
    return path.substr(path.rfind('/') + 1);
}

kube::HttpResponse gone() {
    kube::HttpResponse response;
    response.head.status = 404;
    response.body = test::status_json(404, "NotFound");
    return response;
}

}  // namespace

class FakeApi::Stream final : public kube::HttpStream {
public:
    Stream(const boost::asio::any_io_executor& loop, Kind& kind) : wake_(loop), kind_(kind) {
        head_.status = 200;
        kind_.streams.push_back(this);
    }
    ~Stream() override { kind_.streams.remove(this); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    Stream(Stream&&) = delete;
    Stream& operator=(Stream&&) = delete;

    void push(std::string line) {
        lines_.push_back(std::move(line));
        wake_.cancel();
    }

    [[nodiscard]] const kube::HttpHead& head() const override { return head_; }
    [[nodiscard]] Task<Result<std::optional<std::string_view>>> next_line(
        std::chrono::milliseconds /*silence*/) override {
        while (lines_.empty()) {
            wake_.expires_after(1h);
            static_cast<void>(co_await wake_.async_wait(as_result));
            const auto state = co_await boost::asio::this_coro::cancellation_state;
            if (state.cancelled() != boost::asio::cancellation_type::none) {
                co_return fail(Errc::cancelled, "the watch was cancelled");
            }
        }
        const auto line = std::move(lines_.front());
        lines_.pop_front();
        co_return std::optional{line_.set(line)};
    }
    [[nodiscard]] Task<Result<std::string>> rest(std::chrono::milliseconds /*limit*/) override {
        co_return std::string{};
    }

private:
    boost::asio::steady_timer wake_;
    Kind& kind_;
    kube::HttpHead head_;
    std::deque<std::string> lines_;
    test::PaddedLine line_;
};

void FakeApi::put(const std::string& plural, json::object object) {
    auto& metadata = object["metadata"].as_object();
    metadata["resourceVersion"] = std::to_string(++version_);
    const std::string name{metadata.at("name").as_string()};
    auto& kind = kinds_[plural];
    if (!metadata.contains("uid")) {
        // One of the same name that comes after it was removed is another one.
        const auto removed = kind.removed[name];
        metadata["uid"] =
            "uid of " + name + (removed == 0 ? std::string{} : " " + std::to_string(removed));
    }
    const bool is_new = !kind.objects.contains(name);
    kind.objects[name] = object;
    tell(kind, is_new ? "ADDED" : "MODIFIED", object);
}

void FakeApi::remove(const std::string& plural, const std::string& name) {
    auto& kind = kinds_[plural];
    auto object = kind.objects.at(name);
    kind.objects.erase(name);
    ++kind.removed[name];
    object["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    tell(kind, "DELETED", object);
}

void FakeApi::tell(Kind& kind, const std::string& type, const json::object& object) {
    for (auto* stream : kind.streams) {
        stream->push(test::watch_line(type, json::serialize(object)));
    }
}

void FakeApi::leave_out(const std::string& plural) {
    absent_.insert(plural);
    for (auto* stream : kinds_[plural].streams) {
        stream->push(test::watch_line("ERROR", test::status_json(410, "Expired")));
    }
}

void FakeApi::bring_back(const std::string& plural) {
    absent_.erase(plural);
}

bool FakeApi::is_absent(const std::string& plural) const {
    return absent_.contains(plural);
}

void FakeApi::release() {
    held_ = false;
    gate_.cancel();
}

Task<Result<kube::HttpResponse>> FakeApi::send(kube::HttpRequest request,
                                               std::chrono::milliseconds /*limit*/) {
    if (request.method == "GET" && is_absent(plural_of(request.target))) {
        co_return gone();
    }
    calls_.push_back(request);
    ++waiting_;
    if (held_ && (!which_ || which_(request))) {
        static_cast<void>(co_await gate_.async_wait(as_result));
        if (held_) {
            co_return fail(Errc::cancelled, "the call was cancelled");
        }
    }
    --waiting_;
    kube::HttpResponse response;
    response.head.status = 200;
    response.body = "{}";
    if (answer) {
        response = answer(request);
    }
    co_return response;
}

Task<Result<std::unique_ptr<kube::HttpStream>>> FakeApi::open(kube::HttpRequest request,
                                                              std::chrono::milliseconds /*limit*/) {
    const auto plural = plural_of(request.target);
    std::unique_ptr<kube::HttpStream> out;
    if (is_absent(plural)) {
        auto script = std::make_unique<test::ScriptedTransport>();
        script->then({.status = 404, .body = gone().body});
        auto stream = co_await script->open(std::move(request), 1s);
        co_return stream;
    }
    auto& kind = kinds_[plural];
    auto stream = std::make_unique<Stream>(loop_, kind);
    for (const auto& [name, object] : kind.objects) {
        stream->push(test::watch_line("ADDED", json::serialize(object)));
    }
    stream->push(test::bookmark_line(std::to_string(version_), true));
    out = std::move(stream);
    co_return out;
}

}  // namespace scout::aggregator
