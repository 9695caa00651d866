# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds the evaluator of hook conditions (tests/cel), once for each content of its sources. Needs common.sh.

# What the tests look for: tests/cluster/CMakeLists.txt.
readonly cel_program=$root/build/cel/cel

# build_cel: leaves the program at $cel_program. Where it cannot be built it says why and removes an
# older one, so that the tests that need it are skipped; a fault of its sources is an error.
build_cel() {
    local key folder=$root/build/cel
    key=$(cd "$root/tests/cel" && cat -- *.go go.mod go.sum | sha256sum | cut -c 1-16)
    mkdir -p "$folder"
    if [[ -x $folder/cel-$key ]]; then
        note "the evaluator of hook conditions is there"
    else
        rm -f -- "$cel_program"
        if ! command -v go >/dev/null; then
            note "skipped: no Go on this machine, hook conditions are not evaluated"
            return
        fi
        if ! (cd "$root/tests/cel" && go list -deps . >/dev/null) 2>"$folder/build.log"; then
            note "skipped: Go cannot load the evaluator of hook conditions ($(tail -n 1 "$folder/build.log"))"
            return
        fi
        (cd "$root/tests/cel" && go build -ldflags '-s -w' -o "$folder/cel-$key" .) >"$folder/build.log" 2>&1 || {
            tail -n 20 "$folder/build.log" >&2
            die "the evaluator of hook conditions does not build; all of it is in build/cel/build.log"
        }
    fi
    ln -sfn -- "cel-$key" "$cel_program"
    find "$folder" -mindepth 1 -maxdepth 1 -name 'cel-*' ! -name "cel-$key" -delete
}
