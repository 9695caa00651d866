# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds the stand-in launchers (tests/launcher/standin). Needs common.sh.

# What the tests look for: tests/e2e/CMakeLists.txt.
readonly launchers_program=$root/build/launchers/launchers

# build_launchers: leaves the program at $launchers_program. Where Go is not there, or cannot have the modules, it
# says why and removes an older one, so that the tests that need it are skipped; a fault of its sources is an error.
build_launchers() {
    local folder=$root/build/launchers log=$root/build/launchers/build.log
    mkdir -p "$folder"
    if ! command -v go >/dev/null; then
        rm -f -- "$launchers_program"
        note "skipped: no Go on this machine, the test with launchers is skipped"
        return
    fi
    if ! (cd "$root/tests/launcher/standin" && go list -deps . >/dev/null) 2>"$log"; then
        rm -f -- "$launchers_program"
        note "skipped: Go cannot load the launchers ($(tail -n 1 "$log")), the test with them is skipped"
        return
    fi
    (cd "$root/tests/launcher/standin" && go build -o "$launchers_program" .) >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        die "the stand-in launchers do not build; all of it is in build/launchers/build.log"
    }
}
