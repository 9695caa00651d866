// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// moveTimes say how long the parts of a migration take, where nothing real does them.
type moveTimes struct {
	schedule, prepare, run time.Duration
	command                string // NAMESPACE/NAME SOURCE TARGET; exit code 0: the guest runs on the target
}

// going is a migration that runs.
type going struct {
	cancel context.CancelCauseFunc
}

var errAborted = errors.New("the migration was aborted")

// workOnMove does this node's part of a migration that was handed off.
func (h *handler) workOnMove(ctx context.Context, key string) (time.Duration, error) {
	vmi := h.cluster.cached(vmis, key)
	state := objectOf(vmi, "status", "migrationState")
	if state == nil || textOf(state, "endTimestamp") != "" {
		return 0, nil
	}
	begun := textOf(state, "startTimestamp") != ""
	switch {
	case textOf(state, "targetNode") == h.node && textOf(state, "targetNodeAddress") == "":
		return h.prepare(ctx, vmi)
	case textOf(state, "sourceNode") != h.node:
	case !begun && textOf(state, "targetNodeAddress") != "":
		return 0, h.begin(ctx, vmi)
	case begun && flagOf(state, "abortRequested"):
		h.lock.Lock()
		if one := h.going[textOf(state, "migrationUid")]; one != nil {
			one.cancel(errAborted)
		}
		h.lock.Unlock()
	}
	return 0, nil
}

// prepare makes the target ready: its launcher waits for the guest.
func (h *handler) prepare(ctx context.Context, vmi object) (time.Duration, error) {
	if annotationOf(vmi, failKey) == "prepare" {
		return 0, nil // it never answers
	}
	name := textOf(vmi, "status", "migrationState", "targetPod")
	space, _ := split(keyOf(vmi))
	var target *running
	for _, each := range h.kubelets.of(h.node, textOf(vmi, "metadata", "uid")) {
		if each.key == space+"/"+name {
			target = each
		}
	}
	if target == nil {
		return 0, fmt.Errorf("expected the launcher of %s on %s", name, h.node)
	}
	time.Sleep(h.times.prepare) // one of five workers, as there
	domain, err := h.kubelets.domainOf(vmi)
	if err != nil {
		return 0, err
	}
	target.one.say(domain)
	if err := target.one.setStatus("Paused", "Migration"); err != nil {
		return 0, err
	}
	return 0, h.changeMove(ctx, vmi, func(vmi, state object) {
		state["targetNodeAddress"] = "127.0.0.1"
		state["targetNodeDomainDetected"] = true
		state["targetNodeDomainReadyTimestamp"] = now()
	})
}

// begin starts the transfer.
func (h *handler) begin(ctx context.Context, vmi object) error {
	uid := textOf(vmi, "status", "migrationState", "migrationUid")
	launcher := h.source(vmi)
	if launcher == nil || launcher.one.guest.isOff() {
		return h.fail(ctx, vmi, errGuestGone)
	}
	if err := h.hooks.call(ctx, "PreMigrationSource", vmi); err != nil {
		return err
	}
	moving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	mine := &going{cancel}
	if !h.keep(uid, mine) {
		mine.cancel(nil)
		return nil
	}
	takes := secondsOf(vmi, moveTimeKey, h.times.run)
	err := launcher.one.change(func(domain object) {
		kubevirtOf(domain)["Migration"] = object{"UID": uid, "StartTimestamp": now(), "EndTimestamp": nil,
			"Failed": false, "FailureReason": "", "AbortStatus": "", "Mode": ""}
	})
	if err == nil {
		err = h.changeMove(ctx, vmi, func(_, state object) {
			state["startTimestamp"] = now()
			state["mode"] = "PreCopy"
		})
	}
	if err != nil {
		h.forget(objectOf(vmi, "status", "migrationState"))
		mine.cancel(err)
		return err
	}
	h.journal.tell(happening{Event: "move-started", VMI: keyOf(vmi), Node: h.node,
		Object: textOf(vmi, "status", "migrationState", "targetNode")})
	launcher.one.guest.moves(takes)
	go h.transfer(moving, copied(vmi), launcher, takes)
	return nil
}

// transfer runs until the guest is on the other side, or not.
func (h *handler) transfer(ctx context.Context, vmi object, launcher *running, takes time.Duration) {
	err := h.carry(ctx, vmi, launcher, takes)
	if err == nil && annotationOf(vmi, failKey) == "run" {
		err = errors.New("internal error: qemu unexpectedly closed the monitor")
	}
	// Whatever happens it is written down: the API server may be away for a while.
	for {
		limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var written error
		if err == nil {
			written = h.arrive(limited, vmi, launcher)
		} else {
			written = h.fail(limited, vmi, err)
		}
		cancel()
		if written == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (h *handler) carry(ctx context.Context, vmi object, launcher *running, takes time.Duration) error {
	if h.times.command != "" {
		return h.carryBy(ctx, vmi)
	}
	numbers := objectOf(vmi, "status", "migrationState", "migrationConfiguration")
	if switches := switchesAfter(vmi, numbers); switches > 0 && switches < takes {
		takes = switches
	}
	ended := time.NewTimer(takes)
	defer ended.Stop()
	watch := time.NewTicker(20 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case <-ended.C:
			return context.Cause(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-watch.C:
			if launcher.one.guest.isOff() {
				return errGuestGone
			}
		}
	}
}

// carryBy leaves it to a command, which ends early by itself when the guest is gone. To abort it is terminated:
// it tells by how it ends whether the guest had moved before.
func (h *handler) carryBy(ctx context.Context, vmi object) error {
	state := objectOf(vmi, "status", "migrationState")
	command := exec.CommandContext(ctx, h.times.command, keyOf(vmi), textOf(state, "sourceNode"),
		textOf(state, "targetNode"))
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	err := command.Run()
	if command.ProcessState != nil && command.ProcessState.Success() {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// arrive: the target's handler tells that the VMI is its own now.
func (h *handler) arrive(ctx context.Context, vmi object, launcher *running) error {
	state := objectOf(vmi, "status", "migrationState")
	node := textOf(state, "targetNode")
	space, _ := split(keyOf(vmi))
	for _, each := range h.kubelets.of(node, textOf(vmi, "metadata", "uid")) {
		if each.key == space+"/"+textOf(state, "targetPod") {
			_ = each.one.setStatus("Running", "Unknown")
		}
	}
	launcher.one.guest.left(launcher.one)
	err := h.changeMove(ctx, vmi, func(vmi, state object) {
		state["endTimestamp"] = now()
		state["completed"] = true
		set(vmi, node, "status", "nodeName")
		set(vmi, node, "metadata", "labels", nodeNameKey)
		remove(vmi, "metadata", "labels", targetNodeKey)
		remove(vmi, "metadata", "labels", "kubevirt.io/outdatedLauncherImage")
		remove(vmi, "metadata", "annotations", "kubevirt.io/eviction-source")
		remove(vmi, "status", "evacuationNodeName")
	})
	if err != nil {
		return err
	}
	h.forget(state)
	h.journal.tell(happening{Event: "moved", VMI: keyOf(vmi), Node: node})
	return launcher.calls.order(ctx, "DeleteVirtualMachine")
}

// fail: the guest stays, or what is left of it.
func (h *handler) fail(ctx context.Context, vmi object, why error) error {
	state := objectOf(vmi, "status", "migrationState")
	launcher := h.source(vmi)
	if launcher != nil {
		launcher.one.guest.moves(0)
		_ = launcher.one.change(func(domain object) {
			if move, is := kubevirtOf(domain)["Migration"].(object); is {
				move["EndTimestamp"], move["Failed"], move["FailureReason"] = now(), true, why.Error()
			}
		})
	}
	err := h.changeMove(ctx, vmi, func(vmi, state object) {
		state["endTimestamp"] = now()
		state["completed"], state["failed"] = true, true
		state["failureReason"] = why.Error()
		if errors.Is(why, errAborted) {
			state["abortStatus"] = "Succeeded"
		}
	})
	if err != nil {
		return err
	}
	h.forget(state)
	h.journal.tell(happening{Event: "move-failed", VMI: keyOf(vmi), Node: h.node, Text: why.Error()})
	space, _ := split(keyOf(vmi))
	for _, each := range h.kubelets.of(textOf(state, "targetNode"), textOf(vmi, "metadata", "uid")) {
		if each.key == space+"/"+textOf(state, "targetPod") {
			each.one.guest.end(each.one)
		}
	}
	h.touch(keyOf(vmi))
	return nil
}

// keep is false if that migration runs already.
func (h *handler) keep(uid string, one *going) bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.going[uid] != nil {
		return false
	}
	h.going[uid] = one
	return true
}

func (h *handler) forget(state object) {
	h.lock.Lock()
	defer h.lock.Unlock()
	delete(h.going, textOf(state, "migrationUid"))
}

// changeMove changes a VMI while it is in this migration and that has not ended.
func (h *handler) changeMove(ctx context.Context, vmi object, how func(vmi, state object)) error {
	uid := textOf(vmi, "status", "migrationState", "migrationUid")
	return h.cluster.change(ctx, h.cluster.handler, vmis, keyOf(vmi), "", func(vmi object) bool {
		state := objectOf(vmi, "status", "migrationState")
		if textOf(state, "migrationUid") != uid || textOf(state, "endTimestamp") != "" {
			return false
		}
		how(vmi, state)
		return true
	})
}
