// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const foregroundFinalizer = "kubevirt.io/foregroundDeleteVirtualMachine"

// vmiController plays virt-controller's part for VMIs. One that is made in phase Running with a node has
// its launcher there at once: how VMs start is not what is played.
type vmiController struct {
	cluster *cluster
	loop    *loop
}

func (v *vmiController) run(ctx context.Context) {
	v.cluster.onChange(vmis, func(vmi object) { v.loop.add(keyOf(vmi)) })
	v.cluster.onChange(pods, func(pod object) {
		space, _ := split(keyOf(pod))
		v.loop.add(space + "/" + annotationOf(pod, "kubevirt.io/domain"))
	})
	v.loop.run(ctx, 4, v.work)
}

// podsOf are the launcher pods of a VMI, by its UID, as the server has them.
func (c *cluster) podsOf(ctx context.Context, vmi object) ([]object, error) {
	space, _ := split(keyOf(vmi))
	list, err := c.admin.Resource(pods).Namespace(space).List(ctx, metav1.ListOptions{
		LabelSelector: "kubevirt.io/created-by=" + textOf(vmi, "metadata", "uid")})
	if err != nil {
		return nil, err
	}
	var found []object
	for at := range list.Items {
		found = append(found, list.Items[at].Object)
	}
	return found, nil
}

func (v *vmiController) work(ctx context.Context, key string) (time.Duration, error) {
	vmi, err := v.cluster.live(ctx, vmis, key)
	if err != nil || vmi == nil {
		return 0, err
	}
	all, err := v.cluster.podsOf(ctx, vmi)
	if err != nil {
		return 0, err
	}
	phase := textOf(vmi, "status", "phase")
	if isDeleting(vmi) {
		return 0, v.end(ctx, vmi, all)
	}
	if phase == "Running" && textOf(vmi, "status", "nodeName") != "" && objectOf(vmi, "status", "activePods") == nil &&
		len(all) == 0 {
		first, err := v.makeFirstPod(ctx, vmi)
		if err != nil {
			return 0, err
		}
		all = []object{first}
	}
	if err := v.annotate(ctx, vmi, all); err != nil {
		return 0, err
	}
	return 0, v.cluster.change(ctx, v.cluster.controller, vmis, key, "", func(vmi object) bool {
		return v.tell(vmi, all)
	})
}

func (v *vmiController) makeFirstPod(ctx context.Context, vmi object) (object, error) {
	pod := launcherPod(vmi, object{nodeNameKey: textOf(vmi, "status", "nodeName")}, object{})
	set(pod, textOf(vmi, "status", "nodeName"), "spec", "nodeName")
	return v.cluster.makePod(ctx, pod)
}

func (c *cluster) makePod(ctx context.Context, pod object) (object, error) {
	made, err := c.controller.Resource(pods).Namespace(textOf(pod, "metadata", "namespace")).Create(ctx,
		&unstructured.Unstructured{Object: pod}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return made.Object, nil
}

// launcherPod is one of a VMI, with these labels and annotations besides (dossier §6.3, §9.1).
func launcherPod(vmi, labels, annotations object) object {
	space, name := split(keyOf(vmi))
	uid := textOf(vmi, "metadata", "uid")
	for key, value := range objectOf(vmi, "metadata", "labels") {
		if _, there := labels[key]; !there {
			labels[key] = value
		}
	}
	labels["kubevirt.io"] = "virt-launcher"
	labels["kubevirt.io/created-by"] = uid
	labels["vm.kubevirt.io/name"] = name
	labels["vmi.kubevirt.io/id"] = name
	annotations["kubevirt.io/domain"] = name
	annotations["kubevirt.io/migrationTransportUnix"] = "true"
	annotations["descheduler.alpha.kubernetes.io/request-evict-only"] = ""
	grace := graceOf(vmi)
	command := []any{"/usr/bin/virt-launcher-monitor", "--name", name, "--uid", uid, "--namespace", space,
		"--grace-period-seconds", fmt.Sprint(grace + 15)}
	compute := object{"name": "compute", "image": "none", "command": command}
	if requests := objectOf(vmi, "spec", "domain", "resources", "requests"); requests != nil {
		compute["resources"] = object{"requests": copied(requests)}
	}
	return object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"generateName": "virt-launcher-" + name + "-", "namespace": space,
			"labels": labels, "annotations": annotations,
			"ownerReferences": []any{object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
				"name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true}}},
		"spec": object{"restartPolicy": "Never", "automountServiceAccountToken": false,
			"terminationGracePeriodSeconds": grace + 30,
			"containers":                    []any{compute}}}
}

// annotate tells the descheduler which pods are on their way already.
func (v *vmiController) annotate(ctx context.Context, vmi object, all []object) error {
	const key = "descheduler.alpha.kubernetes.io/eviction-in-progress"
	marked := textOf(vmi, "status", "evacuationNodeName") != ""
	for _, pod := range all {
		_, there := objectOf(pod, "metadata", "annotations")[key]
		if there == marked || isFinal(textOf(pod, "status", "phase")) {
			continue
		}
		err := v.cluster.change(ctx, v.cluster.controller, pods, keyOf(pod), "", func(pod object) bool {
			if marked {
				set(pod, "kubevirt", "metadata", "annotations", key)
			} else {
				remove(pod, "metadata", "annotations", key)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tell brings a VMI's status to what its pods are.
func (v *vmiController) tell(vmi object, all []object) bool {
	changed := false
	active := object{}
	ready, reason := "False", "PodNotExists"
	for _, pod := range all {
		node := textOf(pod, "spec", "nodeName")
		if node == "" || isFinal(textOf(pod, "status", "phase")) {
			continue
		}
		active[textOf(pod, "metadata", "uid")] = node
		if node == textOf(vmi, "status", "nodeName") {
			ready, reason = "True", ""
			if isDeleting(pod) {
				ready, reason = "False", "PodTerminating"
			}
		}
	}
	if len(all) > 0 && len(active) == 0 {
		reason = "PodTerminating"
	}
	if had := objectOf(vmi, "status", "activePods"); !sameTexts(had, active) || had == nil {
		set(vmi, active, "status", "activePods")
		changed = true
	}
	if labelOf(vmi, nodeNameKey) == "" {
		set(vmi, textOf(vmi, "status", "nodeName"), "metadata", "labels", nodeNameKey)
		changed = true
	}
	changed = setCondition(vmi, "Ready", ready, reason, "") || changed
	if had, _ := conditionOf(vmi, "LiveMigratable"); had == "" {
		changed = setCondition(vmi, "LiveMigratable", "True", "", "") || changed
	}
	if textOf(vmi, "status", "evacuationNodeName") != "" {
		changed = setCondition(vmi, "EvictionRequested", "True", "", "") || changed
	} else {
		changed = setCondition(vmi, "EvictionRequested", "", "", "") || changed
	}
	for key, value := range map[string]string{"migrationMethod": "LiveMigration", "migrationTransport": "Unix",
		"selinuxContext": "none"} {
		if _, there := objectOf(vmi, "status")[key]; !there {
			set(vmi, value, "status", key)
			changed = true
		}
	}
	// Its pods are gone, and were there: not one that is about to be made.
	if textOf(vmi, "status", "phase") == "Running" && len(all) == 0 {
		setPhase(vmi, "Failed")
		changed = true
	}
	return changed
}

// end deletes the pods of a VMI that its owner deletes, at once, and lets it go once they are gone.
func (v *vmiController) end(ctx context.Context, vmi object, all []object) error {
	left := false
	for _, pod := range all {
		if isFinal(textOf(pod, "status", "phase")) {
			continue
		}
		left = true
		if !isDeleting(pod) {
			if err := v.cluster.remove(ctx, v.cluster.controller, pods, pod, -1); err != nil {
				return err
			}
		}
	}
	if left {
		return nil
	}
	return v.cluster.change(ctx, v.cluster.controller, vmis, keyOf(vmi), "", func(vmi object) bool {
		return dropFinalizer(vmi, foregroundFinalizer)
	})
}

func dropFinalizer(one object, name string) bool {
	kept, dropped := []any{}, false
	for _, each := range listOf(one, "metadata", "finalizers") {
		if each == name {
			dropped = true
		} else {
			kept = append(kept, each)
		}
	}
	set(one, kept, "metadata", "finalizers")
	return dropped
}

func sameTexts(one, other object) bool {
	if len(one) != len(other) {
		return false
	}
	for key, value := range one {
		if other[key] != value {
			return false
		}
	}
	return true
}
