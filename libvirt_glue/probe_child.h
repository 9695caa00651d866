// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The embedded driver in a process of its own: libvirt, its drivers and caches cost more memory
/// than the whole agent may have, and QEMU's answers are needed once in a while only.
namespace scout::libvirt_glue {

/// True if the program was started as the probing child: `<program> --probe-child URI`.
[[nodiscard]] bool is_probe_child(int argc, const char* const* argv) noexcept;

/// The child's whole life: asks libvirt at the URI, writes the answer to stdout (one JSON object,
/// probe_answer.h) and returns the exit code: 0 also for an answer that is an error, 2 for wrong
/// arguments. Call it first in main, before any thread or log exists.
///
/// The process that is started only watches; it forks the one that asks. When the asker is done, or
/// the watcher gets SIGTERM, or the agent dies (PR_SET_PDEATHSIG), all that is left below is
/// killed: QEMU processes that libvirt started to ask them would outlive a killed asker.
[[nodiscard]] int probe_child_main(int argc, const char* const* argv);

}  // namespace scout::libvirt_glue
