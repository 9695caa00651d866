# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every command in tools/ shares: where the tree is, how to speak, steps with their time.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root

step_name=""
step_started=0
said_why=0

say() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

die() {
    said_why=1
    printf 'error: %s\n' "$*" >&2
    exit 1
}

elapsed() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }

# begin NAME: ends the step before and starts this one.
begin() {
    finish
    step_name=$1
    step_started=$SECONDS
    say "$step_name"
}

finish() {
    if [[ -n $step_name ]]; then
        note "$step_name: $(elapsed $((SECONDS - step_started)))"
        step_name=""
    fi
}

# For `trap … EXIT`: names the step that failed, once.
explain_failure() {
    local status=$1
    if ((status != 0 && status != 130 && !said_why)) && [[ -n $step_name ]]; then
        printf "error: step '%s' failed (exit %d); what it printed is above\n" \
            "$step_name" "$status" >&2
    fi
}

# How many compilers may run at once: one a core, and 1.5 GiB of memory for each.
jobs_for_build() {
    local cores memory_kib by_memory
    cores=$(nproc)
    memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
    by_memory=$((memory_kib / 1572864))
    ((by_memory < 1)) && by_memory=1
    echo $((cores < by_memory ? cores : by_memory))
}
