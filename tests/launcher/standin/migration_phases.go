// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

const (
	unschedulableKey = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
	pendingKey       = "kubevirt.io/migrationPendingPodTimeoutSeconds"
)

// pauseWhenFull is until a migration that waits for a slot looks again.
func pauseWhenFull(move object) time.Duration {
	switch textOf(move, "spec", "priority") {
	case "system-critical":
		return time.Second
	case "user-triggered":
		return 3 * time.Second
	}
	return 5 * time.Second
}

// begin makes the target pod, once there is a slot.
func (m *migrationController) begin(ctx context.Context, one *step) (time.Duration, error) {
	source := textOf(one.vmi, "status", "nodeName")
	if one.pod != nil {
		m.running[keyOf(one.move)] = source
		return 0, m.enter(ctx, one, "Scheduling")
	}
	node := m.cluster.cached(nodes, source)
	if isDeleting(one.vmi) || node == nil || textOf(one.vmi, "status", "selinuxContext") == "" {
		return 0, nil // for ever
	}
	all, err := m.cluster.podsOf(ctx, one.vmi)
	if err != nil {
		return 0, err
	}
	active := 0
	for _, pod := range all {
		if !isFinal(textOf(pod, "status", "phase")) {
			active++
		}
	}
	if active > 1 {
		return time.Second, nil
	}
	if wait, err := m.backOffOf(ctx, one); wait > 0 || err != nil {
		return wait, err
	}
	if !m.hasSlot(source) {
		return pauseWhenFull(one.move), nil
	}
	m.running[keyOf(one.move)] = source
	_, err = m.cluster.makePod(ctx, m.targetPod(one))
	if err != nil {
		delete(m.running, keyOf(one.move))
	}
	return 0, err
}

func (m *migrationController) hasSlot(source string) bool {
	settings := objectOf(m.cluster.configuration(), "migrations")
	here := int64(0)
	for _, node := range m.running {
		if node == source {
			here++
		}
	}
	return int64(len(m.running)) < numberOf(settings, 5, "parallelMigrationsPerCluster") &&
		here < numberOf(settings, 2, "parallelOutboundMigrationsPerNode")
}

// backOffOf is how long an evacuation waits after failures of those before it.
func (m *migrationController) backOffOf(ctx context.Context, one *step) (time.Duration, error) {
	if annotationOf(one.move, evacuationKey) == "" {
		return 0, nil
	}
	finished, err := m.cluster.movesOf(ctx, one.vmi, true)
	if err != nil {
		return 0, err
	}
	sort.Slice(finished, func(a, b int) bool { return endOf(finished[a]).After(endOf(finished[b])) })
	wait := m.backOff / 2
	failures := 0
	for _, each := range finished {
		if textOf(each, "status", "phase") != "Failed" || annotationOf(each, evacuationKey) == "" {
			break
		}
		failures++
		wait *= 2
	}
	if failures == 0 {
		return 0, nil
	}
	left := wait - time.Since(endOf(finished[0]))
	if left > 0 {
		m.cluster.tellEvent(ctx, one.vmi, "VirtualMachineInstance", "virtualmachine-controller", "Warning",
			"MigrationBackoff", fmt.Sprintf("backoff migrating vmi %s", keyOf(one.vmi)))
	}
	return max(left, 0), nil
}

func (m *migrationController) targetPod(one *step) object {
	pod := launcherPod(one.vmi, object{moveUIDKey: textOf(one.move, "metadata", "uid")},
		object{"kubevirt.io/migrationJobName": textOf(one.move, "metadata", "name")})
	selector := object{"kubevirt.io/schedulable": "true"}
	for _, from := range []object{objectOf(one.move, "spec", "addedNodeSelector"), objectOf(one.vmi, "spec", "nodeSelector")} {
		for key, value := range from {
			selector[key] = value
		}
	}
	set(pod, selector, "spec", "nodeSelector")
	set(pod, []any{object{"topologyKey": "kubernetes.io/hostname", "labelSelector": object{"matchLabels": object{
		"kubevirt.io/created-by": textOf(one.vmi, "metadata", "uid")}}}},
		"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	if !m.scheduler {
		// No scheduler of the bed takes it: it is bound here.
		set(pod, "kubevirt-standin", "spec", "schedulerName")
	}
	return pod
}

// schedule sees that the target pod is bound, and waits until it is ready.
func (m *migrationController) schedule(ctx context.Context, one *step) (time.Duration, error) {
	if one.pod == nil || isDeleting(one.pod) || isFinal(textOf(one.pod, "status", "phase")) {
		return 0, m.fail(ctx, one, "target pod was removed or shut down during the migration")
	}
	created, _ := time.Parse(time.RFC3339, textOf(one.pod, "metadata", "creationTimestamp"))
	if textOf(one.pod, "spec", "nodeName") == "" {
		if !m.scheduler && annotationOf(one.vmi, failKey) != "schedule" && m.bind(ctx, one) {
			return m.ready, nil
		}
		return m.wait(ctx, one, time.Since(created), secondsFor(one.move, unschedulableKey, 300*time.Second))
	}
	if status, _ := conditionOf(one.pod, "Ready"); status != "True" {
		return m.wait(ctx, one, time.Since(created), secondsFor(one.move, pendingKey, 900*time.Second))
	}
	if left := m.ready - time.Since(boundAt(one.pod)); left > 0 {
		return left, nil
	}
	return 0, m.enter(ctx, one, "Scheduled")
}

// boundAt is when this stand-in bound the pod; long ago if somebody else did.
func boundAt(pod object) time.Time {
	when, _ := time.Parse(time.RFC3339Nano, annotationOf(pod, "standin.virt-scout.io/bound"))
	return when
}

func (m *migrationController) wait(ctx context.Context, one *step, since, limit time.Duration) (time.Duration, error) {
	if since < limit {
		return min(time.Second, limit-since), nil
	}
	return 0, m.fail(ctx, one, "target pod could not be scheduled in time")
}

// bind chooses a node as a scheduler would, by selector, affinity and room for one pod each.
func (m *migrationController) bind(ctx context.Context, one *step) bool {
	typed := &corev1.Pod{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(one.pod, typed) != nil {
		return false
	}
	wanted := nodeaffinity.GetRequiredNodeAffinity(typed)
	best, fewest := "", 0
	for _, each := range m.cluster.all(nodes) {
		node := &corev1.Node{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(each, node) != nil || node.Spec.Unschedulable ||
			node.Name == textOf(one.vmi, "status", "nodeName") {
			continue
		}
		fits, err := wanted.Match(node)
		if count := m.launchersOn(node.Name); err == nil && fits &&
			(best == "" || count < fewest || count == fewest && node.Name < best) {
			best, fewest = node.Name, count
		}
	}
	if best == "" {
		_ = m.cluster.change(ctx, m.cluster.admin, pods, keyOf(one.pod), "status", func(pod object) bool {
			return setCondition(pod, "PodScheduled", "False", "Unschedulable", "0 nodes are available")
		})
		return false
	}
	return m.bindTo(ctx, one.pod, best) == nil
}

func (m *migrationController) bindTo(ctx context.Context, pod object, node string) error {
	space, name := split(keyOf(pod))
	_, err := m.cluster.admin.Resource(pods).Namespace(space).Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": name, "namespace": space,
			"annotations": object{"standin.virt-scout.io/bound": time.Now().UTC().Format(time.RFC3339Nano)}},
		"target": object{"apiVersion": "v1", "kind": "Node", "name": node}}},
		metav1.CreateOptions{}, "binding")
	return err
}

func (m *migrationController) launchersOn(node string) int {
	count := 0
	for _, pod := range m.cluster.all(pods) {
		if textOf(pod, "spec", "nodeName") == node && !isFinal(textOf(pod, "status", "phase")) {
			count++
		}
	}
	return count
}

// handOff gives the migration to the handlers of both nodes.
func (m *migrationController) handOff(ctx context.Context, one *step) error {
	if one.pod == nil || isDeleting(one.pod) || isFinal(textOf(one.pod, "status", "phase")) {
		return m.fail(ctx, one, "target pod is down")
	}
	policy, err := m.policyFor(ctx, one.vmi)
	if err != nil {
		return err
	}
	numbers := m.configurationOf()
	state := object{"migrationConfiguration": numbers}
	if name := byPolicy(numbers, policy); name != "" {
		state["migrationPolicyName"] = name
	}
	source := m.nameOfSource(one)
	uid, node := textOf(one.move, "metadata", "uid"), textOf(one.pod, "spec", "nodeName")
	state["migrationUid"], state["targetNode"] = uid, node
	state["targetPod"], state["sourcePod"] = textOf(one.pod, "metadata", "name"), source
	err = m.cluster.change(ctx, m.cluster.controller, vmis, keyOf(one.vmi), "", func(vmi object) bool {
		state["sourceNode"] = textOf(vmi, "status", "nodeName")
		set(vmi, state, "status", "migrationState")
		set(vmi, node, "metadata", "labels", targetNodeKey)
		return true
	})
	if err != nil {
		return err
	}
	m.cluster.tellEvent(ctx, one.move, "VirtualMachineInstanceMigration", "virtualmachine-controller", "Normal",
		"SuccessfulHandOver", "Migration target pod is ready for preparation by virt-handler.")
	return m.enter(ctx, one, "PreparingTarget")
}

func (m *migrationController) nameOfSource(one *step) string {
	for uid, node := range objectOf(one.vmi, "status", "activePods") {
		if node == textOf(one.vmi, "status", "nodeName") {
			return m.nameOfPod(uid)
		}
	}
	return ""
}

// configurationOf are KubeVirt's own numbers, overlaid by those of its object.
func (m *migrationController) configurationOf() object {
	all := object{"nodeDrainTaintKey": drainTaint, "parallelOutboundMigrationsPerNode": int64(2),
		"parallelMigrationsPerCluster": int64(5), "allowAutoConverge": false, "bandwidthPerMigration": "0",
		"completionTimeoutPerGiB": int64(150), "maxDowntimeMs": int64(900), "progressTimeout": int64(150),
		"unsafeMigrationOverride": false, "allowPostCopy": false}
	for key, value := range objectOf(m.cluster.configuration(), "migrations") {
		all[key] = value
	}
	return all
}

// follow tells what the handlers do, no phase left out however late it comes.
func (m *migrationController) follow(ctx context.Context, one *step) error {
	state := objectOf(one.vmi, "status", "migrationState")
	begun := textOf(state, "startTimestamp") != ""
	switch {
	case !one.ours:
		return m.fail(ctx, one, "migration state was cleared or taken over by another job")
	case textOf(state, "endTimestamp") != "" && flagOf(state, "failed"):
		return m.fail(ctx, one, "source node reported migration failed")
	case !begun && (one.pod == nil || isDeleting(one.pod) || isFinal(textOf(one.pod, "status", "phase"))):
		return m.fail(ctx, one, "Target pod is down")
	case one.phase == "PreparingTarget" && textOf(state, "targetNodeAddress") != "":
		return m.enter(ctx, one, "TargetReady")
	case one.phase == "TargetReady" && begun:
		return m.enter(ctx, one, "Running")
	case one.phase == "Running" && textOf(state, "endTimestamp") != "":
		m.cluster.tellEvent(ctx, one.move, "VirtualMachineInstanceMigration", "virtualmachine-controller", "Normal",
			"SuccessfulMigration", "Source node reported migration succeeded")
		return m.enter(ctx, one, "Succeeded")
	}
	return nil
}

// abort does what a deletion of the migration means in its phase (dossier §16, second round). Not done: it
// goes on as if nothing were asked.
func (m *migrationController) abort(ctx context.Context, one *step) (wait time.Duration, done bool, err error) {
	switch one.phase {
	case "", "Pending", "Scheduling", "Scheduled":
		return 0, true, m.fail(ctx, one, "migration canceled")
	case "Running":
		state := objectOf(one.vmi, "status", "migrationState")
		if !one.ours || textOf(state, "endTimestamp") != "" || flagOf(state, "abortRequested") {
			return 0, false, nil
		}
		err = m.cluster.change(ctx, m.cluster.controller, vmis, keyOf(one.vmi), "", func(vmi object) bool {
			set(vmi, true, "status", "migrationState", "abortRequested")
			return true
		})
		return 0, true, err
	}
	return 0, false, nil // between hand-off and start nobody hears of it
}
