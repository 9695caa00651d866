// SPDX-License-Identifier: Apache-2.0
#include "tests/libvirt_glue/libvirtd_sandbox.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "tests/support/wait_until.h"

namespace scout::libvirt_glue {
namespace {

using namespace std::chrono_literals;

/// Reads commands; its end ends every process of the namespace. For bash, which as the first
/// process of the namespace also reaps what others leave behind: libvirtd waits for QEMU's end in
/// vain else.
constexpr const char* script = R"(
set -e
base=$1
for place in run etc/libvirt var/lib/libvirt var/log/libvirt var/cache/libvirt; do
    mkdir -p "$base/$place" "/$place"
    mount --bind "$base/$place" "/$place"
done
mkdir -p /run/lock
while read -r word name; do
    case $word in
        start) rm -f "$base/sock/"*; libvirtd --config "$base/libvirtd.conf" \
                   --pid-file "$base/libvirtd.pid" </dev/null >>"$base/libvirtd.out" 2>&1 &
               daemon=$! ;;
        kill) kill -KILL "$daemon"; wait "$daemon" || true; rm -f "$base/sock/"* ;;
        freeze) kill -STOP "$daemon" ;;
        thaw) kill -CONT "$daemon" ;;
        forget) rm "/etc/libvirt/qemu/$name.xml" ;;
    esac
    echo "$word" >>"$base/done"
done
)";

constexpr const char* qemu_settings =
    "user = \"root\"\n"
    "group = \"root\"\n"
    "security_driver = \"none\"\n"
    "stdio_handler = \"file\"\n"
    "namespaces = []\n"
    "cgroup_controllers = []\n";

bool is_there(const char* program) {
    return std::filesystem::exists(program);
}

}  // namespace

std::string LibvirtdSandbox::missing_part() {
    if (::geteuid() != 0) {
        return "namespaces need root";
    }
    if (!is_there("/usr/sbin/libvirtd")) {
        return "libvirtd is not installed";
    }
    if (!is_there("/usr/bin/qemu-system-x86_64")) {
        return "qemu-system-x86_64 is not installed";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(nothing, STDERR_FILENO);
        ::execlp("unshare", "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc",
                 "true", nullptr);
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? "" : "unshare is not allowed or not installed here";
}

LibvirtdSandbox::LibvirtdSandbox() {
    const auto base = folder_.path();
    folder_.write("etc/libvirt/qemu.conf", qemu_settings);
    folder_.write("libvirtd.conf", "unix_sock_dir = \"" + (base / "sock").string() +
                                       "\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n"
                                       "log_outputs = \"3:file:" +
                                       (base / "libvirtd.log").string() + "\"\n");
    std::filesystem::create_directories(base / "sock");
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe");
    }
    const UniqueFd read_end(ends[0]);
    commands_ = UniqueFd(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(read_end.get(), STDIN_FILENO);
        ::execlp("unshare", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
                 "--mount-proc", "/bin/bash", "-c", script, "sandbox", base.c_str(), nullptr);
        ::_exit(127);
    }
}

LibvirtdSandbox::~LibvirtdSandbox() {
    commands_.reset();
    ::waitpid(pid_, nullptr, 0);
}

bool LibvirtdSandbox::start() {
    command("start");
    const auto socket = folder_.path() / "sock/libvirt-sock";
    return test::wait_until([&] { return std::filesystem::exists(socket); });
}

void LibvirtdSandbox::kill() {
    command("kill");
}

void LibvirtdSandbox::freeze() {
    command("freeze");
}

void LibvirtdSandbox::thaw() {
    command("thaw");
}

void LibvirtdSandbox::forget(const std::string& guest) {
    command("forget " + guest);
}

std::string LibvirtdSandbox::uri() const {
    return "qemu+unix:///system?socket=" + (folder_.path() / "sock/libvirt-sock").string();
}

std::string LibvirtdSandbox::log() const {
    return read_file(folder_.path() / "libvirtd.log").value_or("(no log)") +
           read_file(folder_.path() / "libvirtd.out").value_or("");
}

/// Returns once the command was carried out.
void LibvirtdSandbox::command(const std::string& line) {
    const auto done = folder_.path() / "done";
    const auto before = read_file(done).value_or("").size();
    const auto text = line + "\n";
    if (::write(commands_.get(), text.data(), text.size()) < 0) {
        throw std::runtime_error("the sandbox is gone");
    }
    if (!test::wait_until([&] { return read_file(done).value_or("").size() > before; })) {
        throw std::runtime_error("the sandbox did not carry out: " + line);
    }
}

}  // namespace scout::libvirt_glue
