# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Configuring, building and testing one preset. Needs common.sh.

# A clone of the tree in another folder finds in the compiler cache what this one has compiled.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# build PRESET TARGET… -- CMAKE-OPTION…
build() {
    local preset=$1 targets=()
    shift
    while (($#)) && [[ $1 != -- ]]; do
        targets+=("$1")
        shift
    done
    shift || true
    (cd "$root" && cmake --preset "$preset" "$@" >"$root/build/$preset-configure.log" 2>&1) || {
        tail -n 20 "$root/build/$preset-configure.log" >&2
        die "configuring '$preset' failed; all of it is in build/$preset-configure.log"
    }
    (cd "$root" && cmake --build --preset "$preset" --parallel "$(jobs_for_build)" \
        ${targets[@]+--target "${targets[@]}"})
}

# run_ctest PRESET [OPTION…]: prints all, and keeps it for closing_line.
run_ctest() {
    local preset=$1
    shift
    (cd "$root" && ctest --preset "$preset" "$@") 2>&1 | tee "$root/build/$preset-ctest.log"
}

# The line in which ctest sums up a preset.
closing_line() { grep -E '^[0-9]+% tests passed' "$root/build/$1-ctest.log" | tail -n 1; }

# fuzz_one TARGET SECONDS: seeds first; a crash leaves its input in build/asan/found.
fuzz_one() {
    local target=$1 seconds=$2 name seeds found=$root/build/asan/found
    name=$(basename "$target")
    mkdir -p "$found" "$root/build/asan/corpus/$name"
    seeds=("$root/tests/fuzz/seeds/$name")
    [[ ! -d $root/build/asan/seeds/$name ]] || seeds=("$root/build/asan/seeds/$name")
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 \
        -print_final_stats=0 -verbosity=0 -artifact_prefix="$found/$name-" \
        "$root/build/asan/corpus/$name" "${seeds[@]}" \
        >"$root/build/asan/$name.log" 2>&1 || {
        tail -n 40 "$root/build/asan/$name.log" >&2
        return 1
    }
    note "$name: no fault in $seconds s"
}

# fuzz_all SECONDS: every fuzz target, as many at once as there are cores.
fuzz_all() {
    export root
    export -f fuzz_one note
    printf '%s\0' "$root"/build/asan/bin/*_fuzz |
        xargs -0 -P "$(nproc)" -I '{}' bash -c 'fuzz_one "$@"' fuzz_one '{}' "$1" ||
        die "a fuzz target found a fault; what each printed is above, the inputs lie in build/asan/found"
}
