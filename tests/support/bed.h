// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "tests/support/temporary_folder.h"

namespace scout::test {

/// Where the program of tests/bed is: SCOUT_BED in the environment, else what tools/lib/bed.sh has
/// built for this tree. Empty if there is none.
[[nodiscard]] std::filesystem::path bed_program();

/// A real Kubernetes control plane with its state in a folder of its own; both are gone with this
/// object, and with this process however it ends.
class Bed {
public:
    struct Options {
        bool controllers = false;
        bool scheduler = false;
        std::filesystem::path etcd = {};  ///< instead of the one within
    };

    /// Returns once the API server is ready. Throws std::runtime_error with what it printed.
    explicit Bed(const Options& options);
    ~Bed();
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;
    Bed(Bed&&) = delete;
    Bed& operator=(Bed&&) = delete;

    /// Of a user who may do everything.
    [[nodiscard]] const std::filesystem::path& kubeconfig() const noexcept { return kubeconfig_; }
    [[nodiscard]] const std::string& server() const noexcept { return server_; }
    [[nodiscard]] const std::string& etcd_url() const noexcept { return etcd_url_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Kills a part (apiserver, etcd, controllers, scheduler), and starts one that is stopped; a
    /// started API server is ready. Throws std::runtime_error.
    void stop(std::string_view part) { ask("stop " + std::string{part}); }
    void start(std::string_view part) { ask("start " + std::string{part}); }

private:
    void ask(const std::string& line);
    [[nodiscard]] std::string read_line();
    [[noreturn]] void fail(const std::string& what) const;
    void end() noexcept;

    TemporaryFolder folder_;
    int socket_ = -1;  ///< standard input and output of the bed
    pid_t pid_ = -1;
    std::string unread_;
    std::filesystem::path kubeconfig_;
    std::string server_;
    std::string etcd_url_;
};

/// The one bed of this test program, without controllers and scheduler; the first call starts it.
/// Throws if that failed, now or before.
[[nodiscard]] Bed& shared_bed();

}  // namespace scout::test

/// Skips the test where there is no bed.
#define SCOUT_BED_OR_SKIP()                                                                  \
    if (scout::test::bed_program().empty()) {                                                \
        GTEST_SKIP() << "no bed: build it with tools/lib/bed.sh, or name it with SCOUT_BED"; \
    }                                                                                        \
    static_assert(true)
