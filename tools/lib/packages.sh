# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which packages of Debian 12 are needed for what, and how they get here. Needs common.sh.

readonly build_packages=(
    build-essential cmake ninja-build ccache pkg-config git
    libboost1.81-dev libboost-json1.81-dev
    libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
    libspdlog-dev libfmt-dev libexpected-dev libyaml-cpp-dev libpugixml-dev libsimdjson-dev libxxhash-dev libcli11-dev
    prometheus-cpp-dev libsystemd-dev libvirt-dev libssl-dev zlib1g-dev
)

# Libraries of the programs where they are not built (daemonset/Containerfile); libvirt's is loaded when it is needed.
# shellcheck disable=SC2034
readonly runtime_packages=(
    libboost-json1.81.0 libfmt9 libgrpc++1.51 libprometheus-cpp-core1.0 libprotobuf32 libpugixml1v5 libsimdjson14
    libspdlog1.10 libssl3 libsystemd0 libvirt0 libyaml-cpp0.7 zlib1g
)

# The embedded driver of libvirt and the QEMU that it asks.
run_packages() {
    echo libvirt-daemon-driver-qemu
    case $(dpkg --print-architecture) in
        amd64) echo qemu-system-x86 ;;
        arm64) echo qemu-system-arm ;;
        s390x) echo qemu-system-misc ;;
    esac
}

# Two hosts on one machine, and the guests there (tests/lab).
readonly lab_packages=(libvirt-daemon libvirt-clients iproute2 python3)

readonly test_packages=(
    libgtest-dev libgmock-dev openssl dbus-daemon "${lab_packages[@]}"
    clang-19 libclang-rt-19-dev llvm-19
)
readonly full_packages=(clang-tidy-19 clang-format-19 libclang-19-dev llvm-19-dev)

readonly free_kib_needed=$((6 * 1024 * 1024))

check_distribution() {
    local found
    # shellcheck source=/dev/null
    found=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_CODENAME:-unknown}") ||
        found="unknown"
    [[ $found == "debian bookworm" ]] ||
        die "this sets up Debian 12 (debian bookworm), but this machine is '$found':" \
            "use Debian 12, or install the like of the packages in tools/lib/packages.sh yourself" \
            "and build with 'cmake --preset release && cmake --build --preset release'"
}

# What a first build takes, less what an earlier one has taken already.
check_disk() {
    local free used=0
    free=$(df --output=avail -k "$root" | tail -n 1)
    [[ -d $root/build ]] && used=$(du -sk "$root/build" | cut -f 1)
    ((free + used >= free_kib_needed)) ||
        die "the disk under $root is nearly full: $((free / 1024)) MiB are free," \
            "$(((free_kib_needed - used) / 1024)) MiB are needed; make room and try again"
}

missing_packages() {
    local name
    for name in "$@"; do
        [[ $(HOME=/ dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
            echo "$name"
    done
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif [[ -t 0 ]]; then
        sudo -- "$@"
    else
        sudo -n -- "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 "$@"
}

# One sentence for what went wrong in the given log of apt-get.
explain_apt() {
    local log=$1
    if grep -Eqi 'no space left|enough free space' "$log"; then
        die "the disk is full: apt-get could not unpack the packages; make room and try again"
    elif grep -Eqi 'password is required|not in the sudoers|terminal is required' "$log"; then
        die "packages are missing and sudo asks for a password: run this as root or from a terminal"
    elif grep -Eqi 'could not get lock' "$log"; then
        die "another package manager is at work: wait until it has ended and try again"
    elif grep -Eqi 'resolv|failed to fetch|unable to fetch|could not connect|unable to locate|no installation candidate' "$log"; then
        die "no network, or no Debian 12 mirror in the package sources: apt-get cannot get the" \
            "missing packages; check 'apt-get update' and try again"
    fi
    tail -n 15 "$log" | sed 's/^/    /' >&2
    die "apt-get failed; its last lines are above, all of them in build/packages.log"
}

# For root, libvirt's driver refuses to start without the user that it runs guests as. The package
# libvirt-daemon-system makes it, but starts a daemon too, which nothing here needs.
need_driver_user() {
    ((EUID == 0)) || return 0
    getent group kvm >/dev/null || groupadd --system kvm
    getent group libvirt-qemu >/dev/null || groupadd --system libvirt-qemu
    getent passwd libvirt-qemu >/dev/null && return 0
    note "adding the system user libvirt-qemu, as libvirt's own package does"
    useradd --system --no-create-home --home-dir /var/lib/libvirt --shell /usr/sbin/nologin \
        --gid kvm --groups libvirt-qemu libvirt-qemu
}

# need_packages NAME…: installs what is missing; does nothing, and needs no rights, if nothing is.
need_packages() {
    local log missing
    check_distribution
    missing=$(missing_packages "$@" | xargs)
    if [[ -z $missing ]]; then
        note "all $# packages are there"
        return
    fi
    note "installing: $missing"
    ((EUID == 0)) || command -v sudo >/dev/null ||
        die "packages are missing, you are not root and there is no sudo: run this as root once"
    mkdir -p "$root/build"
    log=$root/build/packages.log
    # An update that fails is told by the installation: a stale list may still be enough.
    apt update >"$log" 2>&1 || true
    # shellcheck disable=SC2086  # one word a package
    apt install --no-install-recommends $missing >>"$log" 2>&1 || explain_apt "$log"
}
