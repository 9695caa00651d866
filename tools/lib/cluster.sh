# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A cluster on this machine: the control plane of tests/bed, the manifests of daemonset/, and our
# programs started as the manifests say, under the accounts that they make. Needs common.sh, demo.sh
# and a state folder; the programs are in $bin.

readonly level_label=kubevirt/host-model-migratability-level

bed_pid=""
bed_input=""

# The bed ends when its standard input does, so with this script whatever happens to it.
start_bed() {
    mkdir "$state/bed"
    mkfifo "$state/bed.input"
    # Without controllers nodes stay as they are made: no kubelet tells that they are alive.
    setsid "$bed_program" up --controllers=false --folder "$state/bed" \
        <"$state/bed.input" >"$state/bed.ready" \
        2>"$state/bed.log" &
    bed_pid=$!
    exec {bed_input}>"$state/bed.input"
    local tries
    for ((tries = 0; tries < 600; ++tries)); do
        [[ ! -s $state/bed.ready ]] || return 0
        is_running "$bed_pid" || break
        sleep 0.1
    done
    tail -n 15 "$state/bed.log" | sed 's/^/    /' >&2
    die "the control plane did not start; its last lines are above"
}

stop_bed() {
    [[ -z $bed_input ]] || exec {bed_input}>&-
    bed_input=""
    local tries
    for ((tries = 0; tries < 100; ++tries)); do
        is_running "$bed_pid" || return 0
        sleep 0.1
    done
    kill -KILL "$bed_pid" 2>/dev/null || true
    wait "$bed_pid" 2>/dev/null || true
}

kubectl() { command kubectl --cache-dir "$state/kubectl" --kubeconfig "$state/bed/admin.kubeconfig" "$@"; }

# as_account ACCOUNT FILE: a kubeconfig with a token of that account of our namespace.
as_account() {
    local token
    cp "$state/bed/admin.kubeconfig" "$2"
    token=$(kubectl create token -n virt-scout "$1" --duration=24h)
    command kubectl --kubeconfig "$2" config unset users >/dev/null
    command kubectl --kubeconfig "$2" config set-credentials "$1" --token="$token" >/dev/null
    command kubectl --kubeconfig "$2" config set-context --current --user="$1" >/dev/null
}

# arguments_of KIND/NAME: of its first container, one a line. Addresses become loopback's, with a port
# that the kernel chooses: all pods share this machine.
arguments_of() {
    kubectl get -n virt-scout "$1" -o 'jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}' |
        sed -e 's/\$(POD_NAMESPACE)/virt-scout/' -e 's/=0\.0\.0\.0:[0-9]*$/=127.0.0.1:0/'
}

# start_replica NAME: sets NAME_pid. The webhook calls it by address, not by the Service.
start_replica() {
    local name=$1 arguments
    mapfile -t arguments < <(arguments_of deployment/virt-scout-aggregator)
    as_account virt-scout-aggregator "$state/$name.kubeconfig"
    mkdir -m 700 "$state/$name"
    KUBECONFIG=$state/$name.kubeconfig setsid "$bin/virt-scout-aggregator" "${arguments[@]}" \
        --state-dir="$state/$name" --https-names=127.0.0.1 >"$state/$name.log" 2>&1 &
    printf -v "${name}_pid" %s $!
}

# node_json NAME DOCUMENT: a node as KubeVirt's labeller would leave it on such a host.
node_json() {
    local labels
    labels=$("$bin/scoutctl" labels "$2" 2>/dev/null | grep -v '^#' | sed 's/^\(.*\)=\(.*\)$/"\1":"\2",/')
    printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s","labels":{%s
        "kubernetes.io/arch":"amd64","kubernetes.io/hostname":"%s","kubevirt.io/schedulable":"true",
        "machine-type.node.kubevirt.io/q35":"true"}},"status":{"allocatable":{"cpu":"32",
        "memory":"64Gi","pods":"110"},"capacity":{"cpu":"32","memory":"64Gi","pods":"110"}}}\n' \
        "$1" "$labels" "$1"
}

# relabel NODE OLD NEW: what the labeller does after the host became another one.
relabel() {
    local old new
    mapfile -t old < <("$bin/scoutctl" labels "$2" 2>/dev/null | sed -n 's/^\([^#].*\)=.*$/\1-/p')
    mapfile -t new < <("$bin/scoutctl" labels "$3" 2>/dev/null | grep -v '^#')
    kubectl label node "$1" "${old[@]}" >/dev/null
    kubectl label node "$1" "${new[@]}" >/dev/null
}

# level_of NODE: the label's value; empty: the node has none.
level_of() {
    kubectl get node "$1" -o "jsonpath={.metadata.labels.kubevirt/host-model-migratability-level}"
}

count_labelled() { kubectl get nodes -l "$level_label" -o name | wc -l; }

leader() { kubectl get lease -n virt-scout virt-scout-aggregator -o 'jsonpath={.spec.holderIdentity}'; }

# address_of NAME KEY: "127.0.0.1:PORT" as a replica's log has it behind KEY=; the last one counts.
address_of() { grep -oE " $2=127\.0\.0\.1:[0-9]+" "$state/$1.log" | tail -n 1 | cut -d = -f 2; }

# call_webhook_at ADDRESS: the bed has no Services. May be called again.
call_webhook_at() {
    kubectl patch mutatingwebhookconfiguration virt-scout-first -p "{\"webhooks\":[{\"name\":\"first.virt-scout.io\",
        \"clientConfig\":{\"service\":null,\"url\":\"https://$1/first\"}}]}"
}

has_bundle() {
    [[ -n $(kubectl get mutatingwebhookconfiguration virt-scout-first \
        -o 'jsonpath={.webhooks[0].clientConfig.caBundle}') ]]
}

# launcher_json NAME: the first pod of a host-model VM, as far as its placement goes.
launcher_json() {
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"virt-launcher-%s","namespace":"virt-scout",
        "labels":{"kubevirt.io":"virt-launcher"},"annotations":{"kubevirt.io/domain":"%s"}},
        "spec":{"serviceAccountName":"virt-scout-agent","containers":[{"name":"compute","image":"none"}],
        "tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists"}],
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"node-labeller.kubevirt.io/obsolete-host-model",
        "operator":"DoesNotExist"}]}]}}}}}\n' "$1" "$1"
}

# A webhook that was changed is asked a moment later.
webhook_is_asked() {
    launcher_json try | kubectl create --dry-run=server -o json -f - | grep -qF "$level_label"
}

node_of_pod() { kubectl get pod -n virt-scout "$1" -o 'jsonpath={.spec.nodeName}'; }

# agent_pod_json NODE: as the DaemonSet makes it there.
agent_pod_json() {
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"virt-scout-agent-%s","namespace":"virt-scout"},
        "spec":{"serviceAccountName":"virt-scout-agent","nodeName":"%s",
        "containers":[{"name":"agent","image":"none"}]}}\n' "$1" "$1"
}

# start_cluster_agent NODE ADDRESS: sets agent_pid. Files are where the manifest mounts them, below the
# state folder; the aggregator is at ADDRESS, under the name of its Service.
start_cluster_agent() {
    local node=$1 address=$2 pod=virt-scout-agent-$1 arguments server
    agent_pod_json "$node" | kubectl apply -f - >/dev/null
    kubectl create token -n virt-scout virt-scout-agent --audience virt-scout \
        --bound-object-kind Pod --bound-object-name "$pod" >"$state/token"
    kubectl get configmap -n virt-scout virt-scout-ca -o 'jsonpath={.data.ca\.crt}' >"$state/ca.crt"
    mapfile -t arguments < <(arguments_of daemonset/virt-scout-agent | sed \
        -e "s|\$(NODE_NAME)|$node|" -e "s|=/etc/virt-scout/ca/ca.crt|=$state/ca.crt|" \
        -e "s|=/var/run/secrets/virt-scout/token|=$state/token|" -e "s|=/pods$|=$state/pods|")
    server=$(printf '%s\n' "${arguments[@]}" | sed -n 's/^--aggregator-address=\(.*\):.*/\1/p')
    mkdir -p "$state/agent" "$state/pods"
    setsid "$bin/virt-scout-agent" "${arguments[@]/#--aggregator-address=*/--aggregator-address=$address}" \
        --tls-server-name="$server" --state-dir="$state/agent" >"$state/agent.log" 2>&1 &
    agent_pid=$!
}

# tls_address_of NAME: where a process serves health and metrics with TLS.
tls_address_of() { sed -n 's/.*health and metrics address=\(127.0.0.1:[0-9]*\) tls=true.*/\1/p' "$state/$1.log"; }

# serves_as NODE ADDRESS: who trusts our authority alone reaches the node's agent there.
serves_as() {
    curl -fsS --cacert "$state/ca.crt" --connect-to "$1:443:$2" "https://$1/metrics" 2>/dev/null |
        grep '^virt_scout_agent_serving_certificate_expires_seconds ' >/dev/null
}

# metric NAME METRIC: a number that a replica tells.
metric() {
    curl -fsS "http://$(address_of "$1" http)/metrics" | sed -n "s|^$2 ||p"
}

# pass_questions_to ADDRESS: the bed has no Services but those that are names.
pass_questions_to() {
    kubectl delete service -n virt-scout virt-scout-aggregator >/dev/null
    kubectl create service externalname -n virt-scout virt-scout-aggregator --external-name localhost >/dev/null
    kubectl patch apiservice v1alpha1.query.virt-scout.io --type merge \
        -p "{\"spec\":{\"service\":{\"port\":${1##*:}}}}"
}

answers_users() { kubectl get --raw /apis/query.virt-scout.io/v1alpha1/nodes >/dev/null; }

# kubectl_scout ARGUMENT…: as kubectl runs a plugin of that name.
kubectl_scout() {
    [[ -e $state/kubectl-scout ]] || ln -s "$bin/scoutctl" "$state/kubectl-scout"
    KUBECONFIG=$state/bed/admin.kubeconfig "$state/kubectl-scout" "$@"
}
