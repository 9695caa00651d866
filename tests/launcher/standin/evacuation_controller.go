// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	evacuationKey = "kubevirt.io/evacuationMigration"
	drainTaint    = "kubevirt.io/drain"
)

// evacuationController makes a migration for each VMI that shall leave its node (dossier §4.2). One worker,
// which reads what there is before it makes something: there are never two.
type evacuationController struct {
	cluster *cluster
	journal *journal
	loop    *loop
}

func (e *evacuationController) run(ctx context.Context) {
	e.cluster.onChange(nodes, func(node object) { e.loop.add(textOf(node, "metadata", "name")) })
	e.cluster.onChange(vmis, func(vmi object) {
		if node := textOf(vmi, "status", "nodeName"); node != "" {
			e.loop.add(node)
		}
	})
	e.cluster.onChange(moves, func(move object) {
		space, _ := split(keyOf(move))
		vmi := e.cluster.cached(vmis, space+"/"+textOf(move, "spec", "vmiName"))
		if node := textOf(vmi, "status", "nodeName"); node != "" {
			e.loop.add(node)
		}
	})
	e.loop.run(ctx, 1, e.work)
}

func hasDrainTaint(node object) bool {
	for _, each := range listOf(node, "spec", "taints") {
		taint, _ := each.(object)
		if textOf(taint, "key") == drainTaint && textOf(taint, "effect") == "NoSchedule" {
			return true
		}
	}
	return false
}

func (e *evacuationController) work(ctx context.Context, name string) (time.Duration, error) {
	node := e.cluster.cached(nodes, name)
	if node == nil {
		return 0, nil // whose node is gone is moved by nobody
	}
	for _, vmi := range e.cluster.all(vmis) {
		if textOf(vmi, "status", "nodeName") != name ||
			textOf(vmi, "status", "evacuationNodeName") != name && !hasDrainTaint(node) {
			continue
		}
		if err := e.consider(ctx, keyOf(vmi), node); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// effectiveStrategy is the VMI's own, else the cluster's, else None.
func (c *cluster) effectiveStrategy(vmi object) string {
	if own := textOf(vmi, "spec", "evictionStrategy"); own != "" {
		return own
	}
	if all := textOf(c.configuration(), "evictionStrategy"); all != "" {
		return all
	}
	return "None"
}

func (e *evacuationController) wants(vmi object, node object) bool {
	name := textOf(node, "metadata", "name")
	marked := textOf(vmi, "status", "evacuationNodeName") == name || hasDrainTaint(node)
	if vmi == nil || textOf(vmi, "status", "nodeName") != name || !marked || isDeleting(vmi) ||
		isFinal(textOf(vmi, "status", "phase")) || isMoving(vmi, nil) {
		return false
	}
	migratable, _ := conditionOf(vmi, "LiveMigratable")
	strategy := e.cluster.effectiveStrategy(vmi)
	return migratable == "True" && (strategy == "LiveMigrate" || strategy == "LiveMigrateIfPossible")
}

func (e *evacuationController) consider(ctx context.Context, key string, node object) error {
	vmi, err := e.cluster.live(ctx, vmis, key)
	if err != nil || !e.wants(vmi, node) {
		return err
	}
	if unfinished, err := e.cluster.movesOf(ctx, vmi, false); err != nil || len(unfinished) > 0 {
		return err
	}
	active := 0
	all, err := e.cluster.podsOf(ctx, vmi)
	if err != nil {
		return err
	}
	for _, pod := range all {
		if !isFinal(textOf(pod, "status", "phase")) {
			active++
		}
	}
	if active > 1 {
		return nil
	}
	return e.make(ctx, vmi, textOf(node, "metadata", "name"))
}

func (e *evacuationController) make(ctx context.Context, vmi object, node string) error {
	space, name := split(keyOf(vmi))
	priority := "system-critical"
	if annotationOf(vmi, "kubevirt.io/eviction-source") == "descheduler" {
		priority = "system-maintenance"
	}
	move := object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": object{"generateName": "kubevirt-evacuation-", "namespace": space,
			"annotations": object{evacuationKey: node}},
		"spec": object{"vmiName": name, "priority": priority}}
	made, err := e.cluster.controller.Resource(moves).Namespace(space).Create(ctx,
		&unstructured.Unstructured{Object: move}, metav1.CreateOptions{})
	if err != nil {
		e.cluster.tellEvent(ctx, vmi, "VirtualMachineInstance", "disruptionbudget-controller", "Warning",
			"FailedCreate", "Error creating a Migration: "+err.Error())
		return err
	}
	e.journal.tell(happening{Event: "evacuation-created", VMI: keyOf(vmi), Node: node, Object: made.GetName()})
	e.cluster.tellEvent(ctx, vmi, "VirtualMachineInstance", "disruptionbudget-controller", "Normal",
		"SuccessfulCreate", "Created Migration "+made.GetName())
	return nil
}

// movesOf are the migrations of a VMI as the server has them, finished ones or the others.
func (c *cluster) movesOf(ctx context.Context, vmi object, finished bool) ([]object, error) {
	space, name := split(keyOf(vmi))
	list, err := c.admin.Resource(moves).Namespace(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []object
	for at := range list.Items {
		move := list.Items[at].Object
		if textOf(move, "spec", "vmiName") == name && isFinal(textOf(move, "status", "phase")) == finished {
			found = append(found, move)
		}
	}
	return found, nil
}
