// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_cluster.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <utility>

#include "tests/support/padded_line.h"
#include "tests/support/scripted_transport.h"

namespace scout::test {
namespace {

constexpr std::size_t page_size = 3;

std::string json_of(const FakeCluster::Object& object, std::uint64_t version) {
    return R"({"metadata":{"name":")" + object.name + R"(","namespace":"s","uid":")" + object.uid +
           R"(","resourceVersion":")" + std::to_string(version) + R"("},"text":")" +
           std::to_string(object.text) + R"("})";
}

std::string parameter(const std::string& target, const std::string& name) {
    const auto begin = target.find(name + "=");
    if (begin == std::string::npos) {
        return {};
    }
    const auto value = begin + name.size() + 1;
    return target.substr(value, target.find('&', value) - value);
}

}  // namespace

/// One watch. Events between a swapped pair and its end are told without faults in between, as a
/// lost one of the two could not be noticed.
class FakeCluster::Stream final : public kube::HttpStream {
public:
    Stream(FakeCluster& cluster, unsigned status, std::string body)
        : cluster_(cluster), body_(std::move(body)) {
        head_.status = status;
    }
    void list() {
        for (const auto& item : cluster_.items()) {
            queue_.push_back(watch_line("ADDED", item));
        }
        listing_ = true;
        position_ = cluster_.version_;
    }
    void watch_from(std::uint64_t version) { position_ = version; }

    [[nodiscard]] const kube::HttpHead& head() const override { return head_; }
    [[nodiscard]] Task<Result<std::string>> rest(std::chrono::milliseconds /*limit*/) override {
        co_return body_;
    }
    [[nodiscard]] Task<Result<std::optional<std::string_view>>> next_line(
        std::chrono::milliseconds /*silence*/) override {
        if (queue_.empty()) {
            if (const auto fault = refill()) {
                if (*fault == Errc::not_found) {
                    co_return std::nullopt;
                }
                co_return fail(*fault, "the model's stream fails");
            }
        }
        last_ = std::move(queue_.front());
        queue_.pop_front();
        co_return std::optional{line_.set(last_)};
    }

private:
    /// At least one line, or how the stream ends; not_found for an orderly end.
    std::optional<Errc> refill() {
        cluster_.step();
        if (epoch_ != cluster_.epoch_) {
            return Errc::unavailable;
        }
        if (!cluster_.calm() && cluster_.chance(4)) {
            return cluster_.connection_fault();
        }
        if (!cluster_.calm() && cluster_.chance(2)) {
            queue_.push_back(watch_line("ERROR", status_json(410, "Expired")));
            return std::nullopt;
        }
        if (!last_.empty() && !listing_ && cluster_.chance(5)) {
            queue_.push_back(last_);
            return std::nullopt;
        }
        take_events();
        if (!queue_.empty() && !(listing_ && cluster_.chance(50))) {
            return std::nullopt;
        }
        return say_version();
    }
    void take_events() {
        for (const auto& event : cluster_.history_) {
            if (event.version > position_ && queue_.size() < 2) {
                queue_.push_back(event.line);
                position_ = event.version;
                cluster_.told(position_);
            }
        }
        if (queue_.size() == 2 && cluster_.chance(20)) {
            std::swap(queue_[0], queue_[1]);
        }
    }
    std::optional<Errc> say_version() {
        if (listing_) {
            listing_ = false;
            queue_.push_back(bookmark_line(std::to_string(position_), true));
            cluster_.told(position_);
            cluster_.told_list();
            return std::nullopt;
        }
        if (cluster_.calm() && position_ == cluster_.version_) {
            return Errc::cancelled;
        }
        if (!cluster_.calm() && cluster_.chance(30)) {
            cluster_.clock_.advance(std::chrono::minutes{cluster_.chance(50) ? 5 : 0});
            return Errc::not_found;
        }
        queue_.push_back(bookmark_line(std::to_string(cluster_.version_)));
        position_ = cluster_.version_;
        cluster_.told(position_);
        return std::nullopt;
    }

    FakeCluster& cluster_;
    unsigned epoch_ = cluster_.epoch_;
    kube::HttpHead head_;
    std::string body_;
    bool listing_ = false;
    std::uint64_t position_ = 0;
    std::deque<std::string> queue_;
    std::string last_;
    PaddedLine line_;
};

FakeCluster::FakeCluster(Config config, FakeClock& clock)
    : config_(config), clock_(clock), random_(config.seed), steps_(config.steps) {}

Task<Result<std::unique_ptr<kube::HttpStream>>> FakeCluster::open(
    kube::HttpRequest request, std::chrono::milliseconds /*limit*/) {
    step();
    if (const auto fault = calm() || !chance(10) ? std::nullopt : connection_fault()) {
        co_return fail(*fault == Errc::not_found ? Errc::unavailable : *fault, "the model fails");
    }
    const bool lists = !parameter(request.target, "sendInitialEvents").empty();
    const auto from = parameter(request.target, "resourceVersion");
    std::uint64_t version = 0;
    std::from_chars(from.data(), from.data() + from.size(), version);
    const bool expired = !lists && version < floor_;
    unsigned status = expired ? 410 : 200;
    if (lists && !config_.streams_lists) {
        status = 400;
    } else if (!calm() && chance(3)) {
        status = 500;
    }
    auto stream = std::make_unique<Stream>(*this, status, status_json(status, "Model"));
    if (lists) {
        stream->list();
    } else {
        stream->watch_from(version);
    }
    std::unique_ptr<kube::HttpStream> answer = std::move(stream);
    co_return answer;
}

Task<Result<kube::HttpResponse>> FakeCluster::send(kube::HttpRequest request,
                                                   std::chrono::milliseconds /*limit*/) {
    step();
    if (const auto fault = calm() || !chance(10) ? std::nullopt : connection_fault()) {
        co_return fail(*fault == Errc::not_found ? Errc::timed_out : *fault, "the model fails");
    }
    kube::HttpResponse answer;
    if (!calm() && chance(5)) {
        answer.head.status = chance(50) ? 500 : 429;
        answer.body = status_json(answer.head.status, "Model");
        co_return answer;
    }
    answer = page(parameter(request.target, "continue"));
    if (!calm() && chance(3)) {
        answer.body.resize(answer.body.size() / 2);
    } else if (parameter(request.target, "continue").empty()) {
        told_list();
    }
    co_return answer;
}

kube::HttpResponse FakeCluster::page(const std::string& token) {
    kube::HttpResponse answer;
    answer.head.status = 200;
    if (token.empty()) {
        snapshots_["s"] = {.items = items(), .version = version_, .epoch = epoch_};
    }
    const auto& snapshot = snapshots_["s"];
    std::size_t at = 0;
    std::from_chars(token.data(), token.data() + token.size(), at);
    if (snapshot.epoch != epoch_ || snapshot.version < floor_) {
        answer.head.status = 410;
        answer.body = status_json(410, "Expired");
        return answer;
    }
    const auto end = std::min(snapshot.items.size(), at + page_size);
    const std::vector<std::string> part{snapshot.items.begin() + static_cast<std::ptrdiff_t>(at),
                                        snapshot.items.begin() + static_cast<std::ptrdiff_t>(end)};
    const auto next = end < snapshot.items.size() ? std::to_string(end) : std::string{};
    answer.body = list_json(std::to_string(snapshot.version), part, next);
    told(snapshot.version);
    return answer;
}

void FakeCluster::step() {
    steps_ -= steps_ > 0 ? 1 : 0;
    if (calm() || frozen_ || !chance(60)) {
        return;
    }
    mutate();
}

void FakeCluster::mutate() {
    const std::string name = "n" + std::to_string(below(12));
    if (chance(2)) {
        floor_ = version_;
    } else if (chance(5)) {
        backup_ = objects_;
        backup_version_ = version_;
    } else if (chance(1)) {
        set_back();
    } else if (!objects_.contains(name)) {
        write(name, "u" + std::to_string(uids_++), "ADDED");
    } else if (chance(60)) {
        write(name, objects_[name].uid, "MODIFIED");
    } else {
        remove(name);
        if (chance(50)) {
            write(name, "u" + std::to_string(uids_++), "ADDED");
        }
    }
}

void FakeCluster::write(const std::string& name, const std::string& uid, const std::string& type) {
    version_ += 1 + below(3);
    auto& object = objects_[name];
    object = {.name = name, .uid = uid, .version = version_, .text = below(1'000'000)};
    history_.push_back({version_, watch_line(type, json_of(object, version_))});
}

void FakeCluster::remove(const std::string& name) {
    version_ += 1 + below(3);
    history_.push_back({version_, watch_line("DELETED", json_of(objects_[name], version_))});
    objects_.erase(name);
}

void FakeCluster::set_back() {
    objects_ = backup_;
    version_ = backup_version_;
    floor_ = version_;
    history_.clear();
    ++epoch_;
    lists_told_ = 0;
    frozen_ = told_ > version_;
}

void FakeCluster::told(std::uint64_t version) {
    told_ = std::max(told_, version);
}

void FakeCluster::told_list() {
    if (frozen_ && ++lists_told_ == 2) {
        frozen_ = false;
        told_ = version_;
    }
}

std::vector<std::string> FakeCluster::items() const {
    std::vector<std::string> items;
    for (const auto& [name, object] : objects_) {
        items.push_back(json_of(object, object.version));
    }
    return items;
}

std::optional<Errc> FakeCluster::connection_fault() {
    constexpr std::array<Errc, 4> faults{Errc::unavailable, Errc::timed_out, Errc::invalid,
                                         Errc::not_found};
    return faults[below(faults.size())];
}

bool FakeCluster::chance(unsigned percent) {
    return below(100) < percent;
}

std::uint64_t FakeCluster::below(std::uint64_t limit) {
    return random_() % limit;
}

}  // namespace scout::test
