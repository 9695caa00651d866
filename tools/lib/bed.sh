# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds the test bed (tests/bed), once for each content of its sources. Needs common.sh.

# What the tests look for: tests/support/bed.h.
readonly bed_program=$root/build/bed/bed

bed_key() {
    (cd "$root/tests/bed" && cat -- *.go go.mod go.sum "$root/tools/lib/bed.sh" | sha256sum | cut -c 1-16)
}

# build_bed: leaves the program at $bed_program. Where it cannot be built it says why and removes an
# older one, so that the tests that need it are skipped; a fault of its sources is an error.
build_bed() {
    local key version folder=$root/build/bed log=$root/build/bed/build.log
    key=$(bed_key)
    mkdir -p "$folder"
    if [[ -x $folder/$key/bed ]]; then
        note "the test bed is there"
    else
        rm -f -- "$bed_program"
        if ! command -v go >/dev/null; then
            note "skipped: no Go on this machine, tests on a real API server are skipped"
            return
        fi
        # Loading the packages gets their modules, and compares Go's version with go.mod.
        if ! (cd "$root/tests/bed" && go list -deps . >/dev/null) 2>"$log"; then
            note "skipped: Go cannot load the test bed ($(tail -n 1 "$log")), tests on a real API server are skipped"
            return
        fi
        note "building the test bed, which takes ten minutes and more the first time"
        mkdir -p "$folder/$key"
        # What the API server says of itself comes from the linker, as in Kubernetes' own build.
        version=$(sed -n 's/^\tk8s.io\/kubernetes //p' "$root/tests/bed/go.mod")
        (cd "$root/tests/bed" &&
            go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" \
                -o "$folder/$key/bed.new" . &&
            mv -- "$folder/$key/bed.new" "$folder/$key/bed") >"$log" 2>&1 || {
            tail -n 20 "$log" >&2
            die "the test bed does not build; all of it is in build/bed/build.log"
        }
    fi
    ln -sfn -- "$key/bed" "$bed_program"
    find "$folder" -mindepth 1 -maxdepth 1 -type d ! -name "$key" ! -name etcd -exec rm -r -- {} +
}

# old_etcd: Debian's etcd (3.4), which streams no lists, unpacked and not installed: the package would
# start a service. Sets SCOUT_OLD_ETCD, or says why not.
old_etcd() {
    local folder=$root/build/bed/etcd
    if [[ ! -x $folder/usr/bin/etcd ]]; then
        mkdir -p "$folder"
        if ! (cd "$folder" && apt-get -q download etcd-server &&
            dpkg-deb --extract etcd-server_*.deb . && rm -- etcd-server_*.deb) \
            >"$folder/download.log" 2>&1; then
            note "skipped: Debian's etcd-server cannot be had, the test on an older etcd is skipped"
            return
        fi
    fi
    export SCOUT_OLD_ETCD=$folder/usr/bin/etcd
}
