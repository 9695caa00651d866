// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"time"
)

const (
	moveFinalizer = "kubevirt.io/migrationJobFinalize"
	moveUIDKey    = "kubevirt.io/migrationJobUID"
	keptMoves     = 5
)

// migrationController leads migrations through their phases (dossier §6). One worker, so that its limits
// hold.
type migrationController struct {
	cluster *cluster
	journal *journal
	loop    *loop
	backOff time.Duration // after a first failure, 20 s in KubeVirt
	ready   time.Duration // from a bound target pod until it is ready

	scheduler bool // target pods are left to that of the cluster

	running map[string]string // by key, those that take up a slot: their source node
}

func (m *migrationController) run(ctx context.Context) {
	m.cluster.onChange(moves, func(move object) { m.loop.add(keyOf(move)) })
	m.cluster.onChange(vmis, func(vmi object) {
		for _, move := range m.cluster.all(moves) {
			space, _ := split(keyOf(move))
			if space+"/"+textOf(move, "spec", "vmiName") == keyOf(vmi) {
				m.loop.add(keyOf(move))
			}
		}
	})
	m.cluster.onChange(pods, func(pod object) {
		if name := annotationOf(pod, "kubevirt.io/migrationJobName"); name != "" {
			space, _ := split(keyOf(pod))
			m.loop.add(space + "/" + name)
		}
	})
	m.loop.run(ctx, 1, m.work)
}

// step is one migration as it is looked at.
type step struct {
	move, vmi, pod object // pod: of the target, nil if it is not there
	phase          string
	ours           bool // the VMI is in this migration
}

func (m *migrationController) work(ctx context.Context, key string) (time.Duration, error) {
	move, err := m.cluster.live(ctx, moves, key)
	if err != nil {
		return 0, err
	}
	if move == nil {
		delete(m.running, key)
		return 0, nil
	}
	one, err := m.look(ctx, move)
	if err != nil {
		return 0, err
	}
	switch {
	case isFinal(one.phase):
		return 0, m.finish(ctx, one)
	case one.vmi == nil:
		return 0, m.fail(ctx, one, "VMI is missing")
	case isFinal(textOf(one.vmi, "status", "phase")):
		return 0, m.fail(ctx, one, "VMI has shutdown during the migration")
	case isDeleting(move):
		if wait, done, err := m.abort(ctx, one); done || err != nil {
			return wait, err
		}
	}
	switch one.phase {
	case "":
		return 0, m.enter(ctx, one, "Pending")
	case "Pending":
		return m.begin(ctx, one)
	case "Scheduling":
		return m.schedule(ctx, one)
	case "Scheduled":
		return 0, m.handOff(ctx, one)
	}
	return 0, m.follow(ctx, one)
}

func (m *migrationController) look(ctx context.Context, move object) (*step, error) {
	space, _ := split(keyOf(move))
	one := &step{move: move, phase: textOf(move, "status", "phase")}
	var err error
	if one.vmi, err = m.cluster.live(ctx, vmis, space+"/"+textOf(move, "spec", "vmiName")); err != nil || one.vmi == nil {
		return one, err
	}
	uid := textOf(move, "metadata", "uid")
	one.ours = textOf(one.vmi, "status", "migrationState", "migrationUid") == uid
	all, err := m.cluster.podsOf(ctx, one.vmi)
	for _, pod := range all {
		if labelOf(pod, moveUIDKey) == uid {
			one.pod = pod
		}
	}
	return one, err
}

// enter sets the phase, and what the VMI says of the migration once it has ended.
func (m *migrationController) enter(ctx context.Context, one *step, phase string) error {
	m.journal.tell(happening{Event: "migration-phase", VMI: m.vmiKey(one), Object: textOf(one.move, "metadata", "name"),
		Phase: phase})
	return m.cluster.change(ctx, m.cluster.controller, moves, keyOf(one.move), "status", func(move object) bool {
		if had := textOf(move, "status", "phase"); had == phase || isFinal(had) {
			return false
		}
		setPhase(move, phase)
		if phase == "Pending" {
			for uid, node := range objectOf(one.vmi, "status", "activePods") {
				if node == textOf(one.vmi, "status", "nodeName") {
					set(move, m.nameOfPod(uid), "status", "migrationState", "sourcePod")
				}
			}
		}
		if state := objectOf(one.vmi, "status", "migrationState"); one.ours && textOf(state, "endTimestamp") != "" {
			set(move, copied(state), "status", "migrationState")
		}
		return true
	})
}

func (m *migrationController) nameOfPod(uid string) string {
	for _, pod := range m.cluster.all(pods) {
		if textOf(pod, "metadata", "uid") == uid {
			return textOf(pod, "metadata", "name")
		}
	}
	return ""
}

func (m *migrationController) vmiKey(one *step) string {
	space, _ := split(keyOf(one.move))
	return space + "/" + textOf(one.move, "spec", "vmiName")
}

// fail ends it; its target pod goes with it.
func (m *migrationController) fail(ctx context.Context, one *step, why string) error {
	m.cluster.tellEvent(ctx, one.move, "VirtualMachineInstanceMigration", "virtualmachine-controller", "Warning",
		"FailedMigration", "Migration failed: "+why)
	if one.pod != nil && !isFinal(textOf(one.pod, "status", "phase")) {
		if err := m.cluster.remove(ctx, m.cluster.controller, pods, one.pod, 0); err != nil {
			return err
		}
	}
	if err := m.clearHandOff(ctx, one, why); err != nil {
		return err
	}
	return m.enter(ctx, one, "Failed")
}

// clearHandOff: a migration that was handed off and never began has ended for the VMI too.
func (m *migrationController) clearHandOff(ctx context.Context, one *step, why string) error {
	if !one.ours || one.vmi == nil {
		return nil
	}
	uid := textOf(one.move, "metadata", "uid")
	return m.cluster.change(ctx, m.cluster.controller, vmis, keyOf(one.vmi), "", func(vmi object) bool {
		state := objectOf(vmi, "status", "migrationState")
		if textOf(state, "migrationUid") != uid || textOf(state, "endTimestamp") != "" {
			return false
		}
		state["endTimestamp"], state["completed"], state["failed"] = now(), true, true
		state["failureReason"] = why
		return true
	})
}

// finish lets go of what is final, and of the oldest ones that nobody needs.
func (m *migrationController) finish(ctx context.Context, one *step) error {
	delete(m.running, keyOf(one.move))
	err := m.cluster.change(ctx, m.cluster.controller, moves, keyOf(one.move), "", func(move object) bool {
		return dropFinalizer(move, moveFinalizer)
	})
	if err != nil || one.vmi == nil {
		return err
	}
	finished, err := m.cluster.movesOf(ctx, one.vmi, true)
	for len(finished) > keptMoves && err == nil {
		oldest := 0
		for at := range finished {
			if endOf(finished[at]).Before(endOf(finished[oldest])) {
				oldest = at
			}
		}
		err = m.cluster.remove(ctx, m.cluster.controller, moves, finished[oldest], -1)
		finished = append(finished[:oldest], finished[oldest+1:]...)
	}
	return err
}

// endOf is when a migration became final.
func endOf(move object) time.Time {
	stamps := listOf(move, "status", "phaseTransitionTimestamps")
	if len(stamps) == 0 {
		return time.Time{}
	}
	last, _ := stamps[len(stamps)-1].(object)
	when, _ := time.Parse(time.RFC3339, textOf(last, "phaseTransitionTimestamp"))
	return when
}

// secondsFor is what a migration's own annotation says, else KubeVirt's number.
func secondsFor(move object, key string, otherwise time.Duration) time.Duration {
	seconds, err := strconv.Atoi(annotationOf(move, key))
	if err != nil {
		return otherwise
	}
	return time.Duration(seconds) * time.Second
}
