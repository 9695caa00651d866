# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a story needs that is played on a real control plane, with KubeVirt as tests/launcher/standin plays it. Needs
# common.sh, packages.sh, build.sh, bed.sh and launchers.sh.

# prepare_story PACKAGE…: builds all; leaves the control plane's program in $bed_program, also if SCOUT_BED names it.
prepare_story() {
    command -v kubectl >/dev/null || die "there is no kubectl: install it, any version of the last years"
    [[ -d ${SCOUT_TEST_DATA:-}/kubevirt/crds ]] ||
        die "expected KubeVirt's definitions in kubevirt/crds of the folder SCOUT_TEST_DATA, found" \
            "'${SCOUT_TEST_DATA:-}': a file NAME.json of each that 'kubectl get crd -o name | grep kubevirt.io' names in" \
            "a cluster with KubeVirt, with what 'kubectl get crd NAME -o json' prints"

    begin "packages"
    check_disk
    local wanted
    mapfile -t wanted < <(run_packages)
    need_packages "${build_packages[@]}" "${wanted[@]}" "$@"
    need_driver_user
    mkdir -p "$root/build"

    begin "release build"
    build release scoutctl virt-scout-agent virt-scout-aggregator -- -DBUILD_TESTING=OFF -DSCOUT_BENCH=OFF
    if [[ -n ${SCOUT_BED:-} ]]; then
        [[ -x $SCOUT_BED ]] || die "expected the control plane's program in SCOUT_BED, found '$SCOUT_BED'"
    else
        build_bed
        [[ -x $bed_program ]] || die "the control plane cannot be built here, see above"
    fi
    build_launchers
    [[ -x $launchers_program ]] || die "KubeVirt cannot be played here, see above"
}
