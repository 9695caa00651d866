// SPDX-License-Identifier: Apache-2.0
#include "aggregator/snapshot_keeper.h"

#include <mutex>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include "aggregator/snapshot_file.h"
#include "aggregator/snapshot_messages.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto file_limit = 5s;
constexpr auto read_limit = 20s;
constexpr auto write_limit = 20s;

}  // namespace

/// Puts snapshots into the file in the order in which they were taken, whichever thread of the pool
/// is first: a slow write must not put an older one over the last one. Any thread.
class SnapshotKeeper::Writer {
public:
    explicit Writer(std::filesystem::path path) : path_(std::move(path)) {}

    [[nodiscard]] std::uint64_t next() noexcept { return ++taken_; }  ///< loop thread
    [[nodiscard]] Status put(std::uint64_t number, const std::string& text) {
        const std::lock_guard guard(lock_);
        if (number < written_) {
            return {};
        }
        auto stored = store_snapshot(path_, text);
        written_ = stored ? number : written_;
        return stored;
    }

private:
    std::filesystem::path path_;
    std::uint64_t taken_ = 0;
    std::mutex lock_;
    std::uint64_t written_ = 0;
};

SnapshotKeeper::SnapshotKeeper(std::filesystem::path path, std::chrono::milliseconds every,
                               Fleet& fleet, BlockingPool& pool)
    : path_(std::move(path)),
      every_(every),
      fleet_(fleet),
      pool_(pool),
      writer_(std::make_shared<Writer>(path_)) {
    fleet_.registry().observe([this](const Change&) { changed_ = true; });
}

Task<Status> SnapshotKeeper::load() {
    auto locked = co_await lock();
    if (!locked) {
        co_return locked;
    }
    co_await read();
    co_return Status{};
}

Task<Status> SnapshotKeeper::lock() {
    auto take = [path = path_.string() + ".lock"] { return FileLock::take(path); };
    auto taken = co_await offload(pool_, file_limit, std::move(take));
    if (taken) {
        lock_.emplace(std::move(*taken));
        co_return Status{};
    }
    if (taken.error().code == Errc::refused) {
        co_return fail(Errc::refused,
                       "another aggregator uses this state-dir: " + taken.error().message +
                           ": stop it, or choose another state-dir");
    }
    keep_nothing(taken.error());
    co_return Status{};
}

Task<> SnapshotKeeper::read() {
    auto load = [path = path_] { return load_snapshot(path); };
    auto loaded = co_await offload(pool_, read_limit, std::move(load));
    if (!loaded) {
        co_await put_away(std::move(loaded.error()));
        co_return;
    }
    const auto& snapshot = *loaded;
    if (!snapshot) {
        co_return;
    }
    auto restored = restore_snapshot(*snapshot, fleet_.wall(), fleet_.now(), fleet_.registry());
    if (!restored) {
        co_await put_away(std::move(restored.error()));
        co_return;
    }
    // The text and its messages were several times what is left of them.
    loaded->reset();
    ::malloc_trim(0);
    spdlog::info("snapshot read file={} nodes={} guests={}", log_value(path_.string()),
                 fleet_.registry().nodes().size(), fleet_.registry().guests());
}

/// A file that cannot be used must not be overwritten.
Task<> SnapshotKeeper::put_away(Error why) {
    const auto file = log_value(path_.string());
    if (!writes_) {
        spdlog::error("the snapshot cannot be used, starting empty file={} reason={}", file,
                      log_value(why.message));
        co_return;
    }
    auto move = [path = path_, wall = fleet_.wall()] { return set_aside(path, wall); };
    const auto moved = co_await offload(pool_, file_limit, std::move(move));
    if (!moved) {
        spdlog::error("the snapshot cannot be used, starting empty file={} reason={}", file,
                      log_value(why.message));
        keep_nothing(moved.error());
        co_return;
    }
    spdlog::error(
        "the snapshot cannot be used, starting empty file={} reason={} set_aside={} "
        "kept_at_most={}",
        file, log_value(why.message), log_value(moved->string()), kept_aside);
}

void SnapshotKeeper::keep_nothing(const Error& why) {
    writes_ = false;
    ++counters_.failed;
    spdlog::error(
        "no snapshot is written in this run: a restart will know nothing file={} reason={}",
        log_value(path_.string()), log_value(why.message));
}

Task<> SnapshotKeeper::keep() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    int rounds = 0;
    for (;;) {
        timer.expires_after(every_);
        const auto [error] = co_await timer.async_wait(as_result);
        if (error) {
            co_return;
        }
        if (changed_ || ++rounds >= idle_rounds) {
            rounds = 0;
            co_await write(write_limit);
        }
    }
}

Task<> SnapshotKeeper::write(std::chrono::milliseconds limit) {
    if (!writes_) {
        co_return;
    }
    changed_ = false;
    const auto number = writer_->next();
    const auto loop = co_await asio::this_coro::executor;
    SnapshotEncoder encoder(fleet_.registry(), fleet_.wall());
    while (!encoder.turn(fleet_.now())) {
        co_await asio::post(loop, asio::use_awaitable);
    }
    auto payload = encoder.take();
    const auto size = payload.size();
    auto put = [writer = writer_, number, payload = std::move(payload)]() mutable -> Status {
        return writer->put(number, seal_snapshot(std::move(payload)));
    };
    const auto written = co_await offload(pool_, limit, std::move(put));
    if (written) {
        ++counters_.written;
        counters_.bytes = size;
        failing_ = false;
        co_return;
    }
    changed_ = true;
    ++counters_.failed;
    if (!std::exchange(failing_, true)) {
        spdlog::warn("the snapshot cannot be written, a restart will know less file={} reason={}",
                     log_value(path_.string()), log_value(written.error().message));
    }
}

}  // namespace scout::aggregator
