# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Starts an aggregator and an agent of this host with all their state in one private folder, and ends
# them again leaving nothing behind. Needs common.sh; the programs are in $bin.

state=""
aggregator_pid=""
agent_pid=""

open_state() {
    state=$(mktemp -d "${TMPDIR:-/tmp}/virt-scout.XXXXXX")
    # The QEMU that libvirt asks may run as another user and has to reach its monitor socket.
    chmod 711 "$state"
    mkdir -m 700 "$state/aggregator"
}

is_running() { [[ -n $1 ]] && kill -0 "$1" 2>/dev/null; }

scoutctl() { "$bin/scoutctl" --config "$state/scoutctl.yaml" "$@"; }

# The daemons get sessions of their own: Ctrl-C at the terminal is for this script alone, which
# then asks each of them once.

# start_aggregator OPTION…
start_aggregator() {
    printf 'aggregator-address: "unix:%s/query.sock"\n' "$state" >"$state/scoutctl.yaml"
    setsid "$bin/virt-scout-aggregator" --standalone --listen-grpc "unix:$state/agents.sock" \
        --query-socket "$state/query.sock" --listen-http 127.0.0.1:0 \
        --state-dir "$state/aggregator" "$@" >"$state/aggregator.log" 2>&1 &
    aggregator_pid=$!
}

# start_agent OPTION…
start_agent() {
    setsid "$bin/virt-scout-agent" --aggregator-address "unix:$state/agents.sock" \
        --listen-http 127.0.0.1:0 --state-dir "$state/agent" "$@" >"$state/agent.log" 2>&1 &
    agent_pid=$!
}

# Neither daemon may have ended by itself.
check_daemons() {
    is_running "$aggregator_pid" || die_with_log aggregator
    is_running "$agent_pid" || die_with_log agent
}

die_with_log() {
    tail -n 15 "$state/$1.log" | sed 's/^/    /' >&2
    die "the $1 has ended by itself; its last lines are above"
}

# wait_for SECONDS WHAT COMMAND…: until the command succeeds.
wait_for() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        check_daemons
        if ((SECONDS >= until)); then
            tail -n 15 "$state"/*.log | sed 's/^/    /' >&2
            die "$what did not happen in time; the last lines of who is to do it are above"
        fi
        sleep 0.2
    done
}

# Ends one process: asked first, and by force after 6 s (the programs promise 5).
stop_process() {
    local pid=$1 tries
    is_running "$pid" || return 0
    kill -TERM "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 60; ++tries)); do
        is_running "$pid" || break
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

# Processes that still name our folder on their command line.
left_behind() {
    local entry
    for entry in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null <"$entry/cmdline" | grep -qF -- "$state/"; then
            echo "${entry#/proc/}"
        fi
    done
}

stop_all() {
    [[ -n $state ]] || return 0
    local pid
    stop_process "$agent_pid"
    stop_process "$aggregator_pid"
    for pid in $(left_behind); do
        stop_process "$pid"
    done
    rm -rf -- "$state"
    state=""
}
