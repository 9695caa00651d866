// SPDX-License-Identifier: Apache-2.0
#include "aggregator/snapshot_keeper.h"

#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include "aggregator/snapshot_file.h"
#include "aggregator/snapshot_messages.h"
#include "base/files.h"
#include "base/logging.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr auto read_limit = 20s;
constexpr auto write_limit = 20s;

}  // namespace

SnapshotKeeper::SnapshotKeeper(std::filesystem::path path, std::chrono::milliseconds every,
                               Fleet& fleet, BlockingPool& pool)
    : path_(std::move(path)), every_(every), fleet_(fleet), pool_(pool) {
    fleet_.registry().observe([this](const Change&) { changed_ = true; });
}

Task<> SnapshotKeeper::load() {
    auto read = [path = path_]() -> Result<LoadedSnapshot> { return load_snapshot(path); };
    auto loaded = co_await offload(pool_, read_limit, std::move(read));
    if (!loaded || !loaded->message.empty()) {
        spdlog::warn("starting empty file={} reason={}", log_value(path_.string()),
                     log_value(loaded ? loaded->message : loaded.error().message));
        co_return;
    }
    if (loaded->text.empty()) {
        co_return;
    }
    auto restored = restore_snapshot(loaded->text, fleet_.wall(), fleet_.now(), fleet_.registry());
    if (!restored) {
        spdlog::error("the snapshot is damaged, starting empty file={} reason={} outcome={}",
                      log_value(path_.string()), log_value(restored.error().message),
                      log_value(set_aside(path_, fleet_.wall())));
        co_return;
    }
    // The text and its messages were several times what is left of them.
    ::malloc_trim(0);
    spdlog::info("snapshot read file={} nodes={} guests={}", log_value(path_.string()),
                 fleet_.registry().nodes().size(), fleet_.registry().guests());
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
            co_await write();
        }
    }
}

Task<> SnapshotKeeper::write() {
    changed_ = false;
    auto text = encode_snapshot(fleet_.registry(), fleet_.wall(), fleet_.now());
    const auto size = text.size();
    auto put = [path = path_, content = std::move(text)]() -> Status {
        return write_file_atomically(path, content);
    };
    const auto written = co_await offload(pool_, write_limit, std::move(put));
    if (written) {
        ++counters_.written;
        counters_.bytes = size;
        co_return;
    }
    changed_ = true;
    if (counters_.failed++ == 0) {
        spdlog::warn("the snapshot cannot be written, a restart will know less file={} reason={}",
                     log_value(path_.string()), log_value(written.error().message));
    }
}

}  // namespace scout::aggregator
