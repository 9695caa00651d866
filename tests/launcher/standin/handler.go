// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	acpiPause     = 5 * time.Second
	syncFailed    = "Synchronizing with the Domain failed."
	targetNodeKey = "kubevirt.io/migrationTargetNodeName"
	nodeNameKey   = "kubevirt.io/nodeName"
)

// handler plays virt-handler on one node (dossier §3.3, §3.5).
type handler struct {
	node     string
	cluster  *cluster
	journal  *journal
	kubelets *kubelets
	hooks    *hooks
	times    *moveTimes
	vms      *loop // ten workers
	moves    *loop // five, for both ends of migrations

	lock    sync.Mutex
	seen    map[string]bool      // UIDs of VMIs whose domain was there
	pressed map[string]time.Time // when ACPI was last sent, by UID
	going   map[string]*going    // migrations that run away from here, by UID
}

func newHandler(node string, c *cluster, j *journal, k *kubelets, h *hooks, times *moveTimes) *handler {
	return &handler{node: node, cluster: c, journal: j, kubelets: k, hooks: h, times: times,
		vms: newLoop(), moves: newLoop(), seen: map[string]bool{},
		pressed: map[string]time.Time{}, going: map[string]*going{}}
}

func (h *handler) run(ctx context.Context) {
	h.cluster.onChange(vmis, func(vmi object) {
		if textOf(vmi, "status", "nodeName") == h.node || labelOf(vmi, targetNodeKey) == h.node {
			h.touch(keyOf(vmi))
		}
	})
	h.vms.run(ctx, 10, h.work)
	h.moves.run(ctx, 5, h.workOnMove)
}

func (h *handler) touch(vmi string) {
	h.vms.add(vmi)
	h.moves.add(vmi)
}

// source is the launcher here that runs the VMI, or ran it; not one that waits for it to come.
func (h *handler) source(vmi object) *running {
	target := textOf(vmi, "status", "migrationState", "targetPod")
	unfinished := textOf(vmi, "status", "migrationState", "endTimestamp") == ""
	for _, each := range h.kubelets.of(h.node, textOf(vmi, "metadata", "uid")) {
		if _, name := split(each.key); name != target || !unfinished {
			return each
		}
	}
	return nil
}

func (h *handler) work(ctx context.Context, key string) (time.Duration, error) {
	vmi := h.cluster.cached(vmis, key)
	if vmi == nil {
		return 0, nil // no finalizer held it: its pods went with it
	}
	if textOf(vmi, "status", "nodeName") != h.node {
		return 0, nil
	}
	launcher := h.source(vmi)
	var domain object
	if launcher != nil {
		var err error
		if domain, err = launcher.calls.domain(ctx); err != nil {
			return time.Second, nil // its state is unknown: nothing is done
		}
	}
	if !isDeleting(vmi) && isMoving(vmi, domain) {
		return 0, nil
	}
	after, err := h.sync(ctx, vmi, domain, launcher)
	if told := h.tell(ctx, vmi, domain, err); err == nil {
		err = told
	}
	return after, err
}

// isMoving: then virt-handler leaves the VMI alone.
func isMoving(vmi, domain object) bool {
	begun := textOf(vmi, "status", "migrationState", "startTimestamp") != ""
	if begun && textOf(vmi, "status", "migrationState", "endTimestamp") == "" {
		return true
	}
	own := objectOf(domain, "Spec", "Metadata", "KubeVirt", "Migration")
	if textOf(own, "StartTimestamp") != "" && textOf(own, "EndTimestamp") == "" {
		return true
	}
	reason := textOf(domain, "Status", "Reason")
	return textOf(domain, "Status", "Status") == "Paused" &&
		(reason == "Migration" || reason == "StartingUp" || reason == "Postcopy")
}

func isAlive(domain object) bool {
	state := textOf(domain, "Status", "Status")
	return domain != nil && state != "Shutoff" && state != "Crashed" && state != ""
}

// sync brings the domain to what the VMI wants.
func (h *handler) sync(ctx context.Context, vmi, domain object, launcher *running) (time.Duration, error) {
	if launcher == nil {
		return 0, nil
	}
	phase := textOf(vmi, "status", "phase")
	marked := flagOf(domain, "Spec", "Metadata", "KubeVirt", "GracePeriod", "MarkedForGracefulShutdown")
	postcopyFailed := textOf(domain, "Status", "Reason") == "PostcopyFailed"
	switch {
	case isAlive(domain) && postcopyFailed:
		if err := h.hooks.call(ctx, "PreVMStop", vmi); err != nil {
			return 0, err
		}
		return 0, launcher.calls.order(ctx, "KillVirtualMachine")
	case isAlive(domain) && (isDeleting(vmi) || isFinal(phase) || (marked && phase == "Running")):
		return h.shutDown(ctx, vmi, domain, launcher)
	case domain != nil && !isAlive(domain):
		return 0, launcher.calls.order(ctx, "DeleteVirtualMachine")
	}
	return 0, nil
}

func (h *handler) shutDown(ctx context.Context, vmi, domain object, launcher *running) (time.Duration, error) {
	if err := h.hooks.call(ctx, "PreVMStop", vmi); err != nil {
		return 0, err
	}
	period := objectOf(domain, "Spec", "Metadata", "KubeVirt", "GracePeriod")
	grace := time.Duration(numberOf(period, 0, "DeletionGracePeriodSeconds")) * time.Second
	first := textOf(period, "DeletionTimestamp")
	if grace == 0 {
		return 0, launcher.calls.order(ctx, "KillVirtualMachine")
	}
	left := grace
	if first != "" {
		begun, err := time.Parse(time.RFC3339, first)
		if err != nil {
			return 0, err
		}
		if left = grace - time.Since(begun); left <= 0 {
			return time.Second, launcher.calls.order(ctx, "KillVirtualMachine")
		}
	}
	if pause := h.pauseOf(textOf(vmi, "metadata", "uid")); pause > 0 {
		return min(pause, left), nil
	}
	return min(acpiPause, left), launcher.calls.order(ctx, "ShutdownVirtualMachine")
}

// pauseOf is how long ACPI must wait; 0: it may be sent, and is from now on.
func (h *handler) pauseOf(uid string) time.Duration {
	h.lock.Lock()
	defer h.lock.Unlock()
	if since := time.Since(h.pressed[uid]); since < acpiPause {
		return acpiPause - since
	}
	h.pressed[uid] = time.Now()
	return 0
}

// tell writes what became of the VMI into its status.
func (h *handler) tell(ctx context.Context, vmi, domain object, failure error) error {
	if failure != nil {
		h.cluster.tellEvent(ctx, vmi, "VirtualMachineInstance", "virt-handler", "Warning", "SyncFailed",
			failure.Error())
	}
	phase := h.phaseOf(vmi, domain)
	had, _ := conditionOf(vmi, "Synchronized")
	if phase == textOf(vmi, "status", "phase") && (failure != nil) == (had == "False") {
		return nil
	}
	uid := textOf(vmi, "metadata", "uid")
	return h.cluster.change(ctx, h.cluster.handler, vmis, keyOf(vmi), "", func(vmi object) bool {
		if textOf(vmi, "metadata", "uid") != uid || textOf(vmi, "status", "nodeName") != h.node {
			return false
		}
		changed := false
		if failure != nil {
			changed = setCondition(vmi, "Synchronized", "False", syncFailed, failure.Error())
		} else {
			changed = setCondition(vmi, "Synchronized", "", "", "")
		}
		if had := textOf(vmi, "status", "phase"); phase != had && !isFinal(had) {
			setPhase(vmi, phase)
			h.journal.tell(happening{Event: "phase", VMI: keyOf(vmi), Node: h.node, Phase: phase})
			changed = true
		}
		return changed
	})
}

// phaseOf is how a VMI ends by its domain (dossier §9.2).
func (h *handler) phaseOf(vmi, domain object) string {
	phase, uid := textOf(vmi, "status", "phase"), textOf(vmi, "metadata", "uid")
	h.lock.Lock()
	known := h.seen[uid]
	h.seen[uid] = known || domain != nil
	h.lock.Unlock()
	if phase != "Running" || !known && domain == nil {
		return phase
	}
	if domain == nil {
		return "Failed"
	}
	state, reason := textOf(domain, "Status", "Status"), textOf(domain, "Status", "Reason")
	acpi := textOf(domain, "Spec", "Metadata", "KubeVirt", "GracePeriod", "DeletionTimestamp") != ""
	switch {
	case state == "Crashed", reason == "PostcopyFailed":
		return "Failed"
	case state != "Shutoff" || reason == "Migrated":
		return phase
	case reason == "Destroyed" && acpi, reason == "Crashed", reason == "Failed":
		return "Failed"
	}
	return "Succeeded"
}

var errGuestGone = errors.New("the guest ended on its source")
