// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <sys/types.h>

#include "base/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace scout::libvirt_glue {

/// A libvirtd of its own, in mount, network and process namespaces of its own: its folders lie in a
/// temporary folder, nothing of the host's libvirt is touched, and all its processes (QEMU too) end
/// with this object or with the test program.
class LibvirtdSandbox {
public:
    /// Why there can be none on this machine; empty if there can.
    [[nodiscard]] static std::string missing_part();

    LibvirtdSandbox();
    ~LibvirtdSandbox();
    LibvirtdSandbox(const LibvirtdSandbox&) = delete;
    LibvirtdSandbox& operator=(const LibvirtdSandbox&) = delete;
    LibvirtdSandbox(LibvirtdSandbox&&) = delete;
    LibvirtdSandbox& operator=(LibvirtdSandbox&&) = delete;

    /// Starts the daemon and waits for its socket; false after 20 s.
    bool start();
    /// SIGKILL; guests go on.
    void kill();
    /// SIGSTOP, SIGCONT.
    void freeze();
    void thaw();
    /// Takes a definition away while the daemon is down.
    void forget(const std::string& guest);

    [[nodiscard]] std::string uri() const;
    /// The daemon's log, for messages.
    [[nodiscard]] std::string log() const;

private:
    void command(const std::string& line);

    test::TemporaryFolder folder_;
    UniqueFd commands_;
    pid_t pid_ = -1;
};

}  // namespace scout::libvirt_glue
