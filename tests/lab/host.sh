# SPDX-License-Identifier: Apache-2.0
# The first process of one host of the lab, in namespaces of its own (hosts.py). For bash, which also reaps what
# others leave behind: libvirtd waits for QEMU's end in vain else. Its end ends every process of the host, and it
# ends with its standard input.
#
# usage: host.sh FOLDER NAME
set -e
base=$1
hostname "$2"
for place in run etc/libvirt var/lib/libvirt var/log/libvirt var/cache/libvirt; do
    mkdir -p "$base/$place" "/$place"
    mount --bind "$base/$place" "/$place"
done
mkdir -p /run/lock /var/lib/libvirt/console
echo here
while read -r word; do
    case $word in
        start)
            rm -f -- "$base/sock/"*
            libvirtd --listen --config "$base/libvirtd.conf" --pid-file "$base/libvirtd.pid" \
                </dev/null >>"$base/libvirtd.out" 2>&1 &
            daemon=$!
            ;;
        kill)
            kill -KILL "$daemon"
            wait "$daemon" || true
            rm -f -- "$base/sock/"*
            ;;
    esac
    echo "$word"
done
