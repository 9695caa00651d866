// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace scout::cli {

/// A line on stderr that turns while something takes over a second, and is gone afterwards. Only
/// on a terminal: `enabled` false starts nothing. Let it end before anything else is written.
class Progress {
public:
    Progress(std::string what, bool enabled);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    Progress(Progress&&) = delete;
    Progress& operator=(Progress&&) = delete;

    /// What is being done now.
    void say(std::string what);
    /// Takes the line away; nothing may be said afterwards.
    void end();

private:
    void run();

    std::string what_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread thread_;
};

}  // namespace scout::cli
