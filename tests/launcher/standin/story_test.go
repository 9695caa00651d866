// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func veto() error { return errors.New("not now") }

func (s *scene) events(name string, kinds ...string) []happening {
	return s.told.of(s.space+"/"+name, kinds...)
}

func (s *scene) phases(name string) string {
	var all []string
	for _, one := range s.events(name, "migration-phase") {
		all = append(all, one.Phase)
	}
	return strings.Join(all, " ")
}

func (s *scene) evictPodOf(name string) {
	s.Helper()
	if code, text := s.evict(textOf(s.pod(name), "metadata", "name"), nil); code != 429 {
		s.Fatalf("expected 429, found %d %q", code, text)
	}
}

func when(one happening) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, one.Time)
	return at
}

func TestAMarkedGuestIsShutDownWhereNobodyHoldsIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", nil)
	s.tell("mark", "vm")
	s.until("the VMI has ended", func() bool { return textOf(s.read("vm"), "status", "phase") == "Succeeded" })
	told := s.events("vm", "mark", "acpi", "guest-stopped", "guest-killed")
	if len(told) != 3 || told[1].Event != "acpi" || told[2].Event != "guest-stopped" {
		t.Fatalf("expected mark, acpi and the guest's own end, found %+v", told)
	}
	if pause := when(told[1]).Sub(when(told[0])); pause > 500*time.Millisecond {
		t.Errorf("expected ACPI at once, found it after %s", pause)
	}
}

func TestAGuestThatIsDeafIsKilledAfterItsGrace(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{stopsInKey: "-1"})
	s.tell("mark", "vm")
	s.until("the VMI has failed", func() bool { return textOf(s.read("vm"), "status", "phase") == "Failed" })
	told := s.events("vm", "acpi", "guest-killed")
	last := told[len(told)-1]
	if last.Event != "guest-killed" || last.By != "virt-handler" || when(last).Sub(when(told[0])) < time.Second {
		t.Errorf("expected virt-handler to kill it after its grace of 2 s, found %+v", told)
	}
}

func TestAVetoHoldsTheStopUntilATouchOrTheLaunchersOwnEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var holds atomic.Bool
	holds.Store(true)
	s.plugin("PreVMStop", s.here(), func() error {
		if holds.Load() {
			return veto()
		}
		return nil
	})
	s.vmi("vm", "LiveMigrate", "True", nil)
	s.vmi("never", "LiveMigrate", "True", nil)
	s.tell("mark", "vm")
	s.tell("mark", "never")
	s.until("it is asked again and again", func() bool { return len(s.events("vm", "hook")) >= 8 })
	first := s.events("vm", "mark", "hook")
	if pause := when(first[1]).Sub(when(first[0])); pause > 100*time.Millisecond || first[1].Answer != "veto" {
		t.Errorf("expected a hook call some milliseconds after the mark, found %+v after %s", first[1], pause)
	}
	if status, reason := conditionOf(s.read("vm"), "Synchronized"); status != "False" || reason != syncFailed {
		t.Errorf("expected Synchronized=False, found %q %q", status, reason)
	}
	holds.Store(false)
	touched := time.Now()
	if err := s.merge(vmis, "vm", `{"metadata":{"annotations":{"virt-scout.io/released":"now"}}}`); err != nil {
		t.Fatal(err)
	}
	s.until("ACPI is sent", func() bool { return len(s.events("vm", "acpi")) == 1 })
	if took := time.Since(touched); took > time.Second {
		t.Errorf("expected the stop to go on at once after a touch, found %s", took)
	}
	holds.Store(true)
	// Grace 2 s and 15 s more after SIGTERM: whoever vetoes.
	for end := time.Now().Add(20 * time.Second); len(s.events("never", "guest-killed", "acpi")) == 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	told := s.events("never", "mark", "guest-killed", "acpi")
	if len(told) != 2 && len(told) != 3 {
		t.Fatalf("expected the launcher to end it, found %+v", told)
	}
	// The moment without veto may have let it through: then it got its ACPI.
	if last := told[len(told)-1]; last.Event == "guest-killed" {
		if took := when(last).Sub(when(told[0])); last.By != "virt-launcher" || took < 17*time.Second {
			t.Errorf("expected the launcher to kill it after 17 s, found %+v after %s", last, took)
		}
	}
}

func TestAnEvacuationInItsOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.plugin("PreVMStop", s.here(), veto)
	s.vmi("vm", "LiveMigrate", "True", nil)
	folder := filepath.Join(s.disks, s.source, "pods", textOf(s.pod("vm"), "metadata", "uid"))
	s.tell("mark", "vm")
	s.evictPodOf("vm")
	s.until("it has moved", func() bool {
		return len(s.moves("vm")) == 1 && textOf(s.moves("vm")[0], "status", "phase") == "Succeeded"
	})
	if found := s.phases("vm"); found != "Pending Scheduling Scheduled PreparingTarget TargetReady Running Succeeded" {
		t.Errorf("found the phases %s", found)
	}
	vmi, move := s.read("vm"), s.moves("vm")[0]
	if textOf(vmi, "status", "nodeName") != s.target || labelOf(vmi, nodeNameKey) != s.target || labelOf(vmi, targetNodeKey) != "" {
		t.Errorf("expected it on %s, found %v", s.target, vmi["status"])
	}
	if textOf(vmi, "status", "evacuationNodeName") != "" || annotationOf(move, evacuationKey) != s.source ||
		textOf(move, "spec", "priority") != "system-critical" || !strings.HasPrefix(textOf(move, "metadata", "name"), "kubevirt-evacuation-") {
		t.Errorf("expected the mark cleared and KubeVirt's own migration, found %v", move)
	}
	if !flagOf(vmi, "status", "migrationState", "completed") || flagOf(vmi, "status", "migrationState", "failed") {
		t.Errorf("expected a completed migration, found %v", objectOf(vmi, "status", "migrationState"))
	}
	asked := s.events("vm", "hook", "move-started", "moved", "acpi")
	for at, one := range asked {
		if one.Event == "move-started" && (at+1 >= len(asked) || asked[at+1].Event != "moved") {
			t.Errorf("expected that nobody is asked and nothing is sent while it moves, found %+v", asked[at+1:])
		}
	}
	marked, made := s.events("vm", "evacuation-marked"), s.events("vm", "evacuation-created")
	if took := when(made[0]).Sub(when(marked[0])); len(made) != 1 || took > time.Second {
		t.Errorf("expected one migration in milliseconds, found %d after %s", len(made), took)
	}
	s.until("the source's folder is gone", func() bool { _, err := os.Stat(folder); return os.IsNotExist(err) })
	s.until("the source's pod has ended", func() bool { return isFinal(textOf(s.pod("vm"), "status", "phase")) })
	s.until("one pod is active", func() bool { return len(objectOf(s.read("vm"), "status", "activePods")) == 1 })
}

func TestADeletedEvacuationComesAgainWhileTheMarkStays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{failKey: "schedule"})
	s.evictPodOf("vm")
	waiting := func() object {
		for _, one := range s.moves("vm") {
			if textOf(one, "status", "phase") == "Scheduling" && !isDeleting(one) {
				return one
			}
		}
		return nil
	}
	s.until("it waits for its target", func() bool { return waiting() != nil })
	first := waiting()
	if err := s.cluster.remove(s.ctx, s.cluster.admin, moves, first, -1); err != nil {
		t.Fatal(err)
	}
	s.until("there is another", func() bool {
		other := waiting()
		return other != nil && textOf(other, "metadata", "name") != textOf(first, "metadata", "name")
	})
	if code := s.cancel("vm", `{"evacuationNodeName":"`+s.source+`"}`, ""); code != 200 {
		t.Fatalf("expected 200, found %d", code)
	}
	if err := s.cluster.remove(s.ctx, s.cluster.admin, moves, waiting(), -1); err != nil {
		t.Fatal(err)
	}
	s.until("all are gone", func() bool { return len(s.moves("vm")) == 0 })
	time.Sleep(600 * time.Millisecond)
	if left := s.moves("vm"); len(left) != 0 {
		t.Errorf("expected no replacement, found %d", len(left))
	}
}

func TestBetweenHandOffAndStartOnlyTheTargetPodIsHeard(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{failKey: "prepare"})
	s.create(moves, s.space, s.move("vm"))
	s.until("it is handed off", func() bool { return textOf(s.moves("vm")[0], "status", "phase") == "PreparingTarget" })
	move := s.moves("vm")[0]
	if err := s.cluster.remove(s.ctx, s.cluster.admin, moves, move, -1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if phase := textOf(s.moves("vm")[0], "status", "phase"); phase != "PreparingTarget" {
		t.Fatalf("expected that a deletion is not delivered, found %s", phase)
	}
	name := textOf(s.read("vm"), "status", "migrationState", "targetPod")
	err := s.cluster.admin.Resource(pods).Namespace(s.space).Delete(s.ctx, name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.until("the migration is gone", func() bool { return len(s.moves("vm")) == 0 })
	state := objectOf(s.read("vm"), "status", "migrationState")
	if textOf(state, "failureReason") != "Target pod is down" || !flagOf(state, "failed") {
		t.Errorf("expected 'Target pod is down', found %v", state)
	}
	if labelOf(s.read("vm"), targetNodeKey) == "" {
		t.Error("expected the target's label to stay after an abort")
	}
}

func TestARunningMigrationIsAborted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{moveTimeKey: "3600"})
	s.create(moves, s.space, s.move("vm"))
	s.until("it runs", func() bool { return textOf(s.moves("vm")[0], "status", "phase") == "Running" })
	if err := s.cluster.remove(s.ctx, s.cluster.admin, moves, s.moves("vm")[0], -1); err != nil {
		t.Fatal(err)
	}
	s.until("the migration is gone", func() bool { return len(s.moves("vm")) == 0 })
	state := objectOf(s.read("vm"), "status", "migrationState")
	if !flagOf(state, "abortRequested") || textOf(state, "abortStatus") != "Succeeded" || !flagOf(state, "failed") {
		t.Errorf("expected an abort that succeeded, found %v", state)
	}
	if textOf(s.read("vm"), "status", "nodeName") != s.source {
		t.Error("expected the VMI to stay")
	}
}

func TestFailuresAreFollowedByADoubledWait(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{failKey: "run", moveTimeKey: "0.1"})
	s.evictPodOf("vm")
	s.until("three have begun", func() bool { return strings.Count(s.phases("vm"), "Scheduling") == 3 })
	var failed, begun []time.Time
	for _, one := range s.events("vm", "migration-phase") {
		switch one.Phase {
		case "Failed":
			failed = append(failed, when(one))
		case "Scheduling":
			begun = append(begun, when(one))
		}
	}
	// Written times are whole seconds.
	for at, wanted := range []time.Duration{time.Second, 2 * time.Second} {
		if wait := begun[at+1].Sub(failed[at]); wait < wanted-time.Second || wait > wanted+2*time.Second {
			t.Errorf("after failure %d: expected about %s, found %s", at+1, wanted, wait)
		}
	}
}

func TestSlots(t *testing.T) {
	m := &migrationController{cluster: &cluster{}, running: map[string]string{"a": "n1", "b": "n1", "c": "n2", "d": "n3"}}
	if m.hasSlot("n1") || !m.hasSlot("n2") {
		t.Error("expected two to leave a node at a time")
	}
	m.running["e"] = "n3"
	if m.hasSlot("n2") {
		t.Error("expected five to be on their way at a time")
	}
}

func TestTwoLeaveANodeAtATime(t *testing.T) {
	s := newScene(t)
	for number := range 6 {
		s.vmi(fmt.Sprintf("vm-%d", number), "LiveMigrate", "True", object{moveTimeKey: "3600"})
	}
	for number := range 6 {
		s.evictPodOf(fmt.Sprintf("vm-%d", number))
	}
	count := func(phase string) int {
		found := 0
		for number := range 6 {
			for _, one := range s.moves(fmt.Sprintf("vm-%d", number)) {
				if textOf(one, "status", "phase") == phase {
					found++
				}
			}
		}
		return found
	}
	s.until("two run", func() bool { return count("Running") == 2 })
	if waiting := count("Pending"); waiting != 4 {
		t.Errorf("expected four Pending, found %d", waiting)
	}
}

func TestAnOwnersDeleteAsksTheHookAndEndsTheVMI(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", nil)
	if err := s.cluster.remove(s.ctx, s.cluster.admin, vmis, s.read("vm"), -1); err != nil {
		t.Fatal(err)
	}
	s.until("it is gone", func() bool { return s.read("vm") == nil })
	if told := s.events("vm", "acpi", "guest-stopped"); len(told) != 2 {
		t.Errorf("expected ACPI and the guest's own end, found %+v", told)
	}
}

func TestAMigrationOfAVMIUnderDeletionStaysPending(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.plugin("PreVMStop", `vmi.status.nodeName == "`+s.source+`"`, veto)
	s.vmi("vm", "LiveMigrate", "True", nil)
	if err := s.cluster.remove(s.ctx, s.cluster.admin, vmis, s.read("vm"), -1); err != nil {
		t.Fatal(err)
	}
	s.evictPodOf("vm")
	s.create(moves, s.space, s.move("vm"))
	time.Sleep(time.Second)
	all := s.moves("vm")
	if len(all) != 1 || textOf(all[0], "status", "phase") != "Pending" {
		t.Errorf("expected ours alone, Pending, found %v", all)
	}
}

func TestConditionsOfHooks(t *testing.T) {
	evaluator, err := newConditions()
	if err != nil {
		t.Fatal(err)
	}
	runs := object{"metadata": object{"name": "vm", "labels": object{"a": "b"}},
		"status": object{"phase": "Running", "nodeName": "n1"}}
	leaves := copied(runs)
	set(leaves, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	const held = `vmi.status.phase == "Running" && !has(vmi.metadata.deletionTimestamp)`
	for _, each := range []struct {
		text  string
		vmi   object
		holds bool
		fault string
	}{
		{held, runs, true, ""},
		{held, leaves, false, ""},
		{held + ` && !(vmi.status.nodeName in ["n1", "n2"])`, runs, false, ""},
		{held + ` && !(vmi.status.nodeName in ["n2"])`, runs, true, ""},
		{`has(vmi.status.migrationState)`, runs, false, ""},
		{`vmi.metadata.labels["a"] == "b"`, runs, true, ""},
		{`vmi.metadata.labels["absent"] == "b"`, runs, false, "no such key"},
		{`vmi.status.absent == "x"`, runs, false, "compile"},
		{`vmi.status.phase`, runs, false, "expected a CEL expression that is a bool"},
		{`1/0 == 1`, runs, false, "division by zero"},
	} {
		holds, err := evaluator.holds(each.text, each.vmi)
		if holds != each.holds || (err == nil) != (each.fault == "") ||
			err != nil && !strings.Contains(err.Error(), each.fault) {
			t.Errorf("%s: expected %v %q, found %v %v", each.text, each.holds, each.fault, holds, err)
		}
	}
}

func TestADeadHookBlocksTheStop(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.create(plugins, "", object{"apiVersion": "plugin.kubevirt.io/v1alpha1", "kind": "Plugin",
		"metadata": object{"name": s.space}, "spec": object{"nodeHooks": []any{object{"socket": hookFolder + "absent.sock",
			"permittedHooks": []any{"PreVMStop"}, "condition": s.here()}}}})
	s.until("the cache has it", func() bool { return s.cluster.cached(plugins, s.space) != nil })
	s.vmi("vm", "LiveMigrate", "True", nil)
	s.tell("mark", "vm")
	s.until("it could not be asked", func() bool { return len(s.events("vm", "hook")) >= 1 })
	if text := s.events("vm", "hook")[0].Text; !strings.Contains(text, "failed to dial plugin") || !strings.Contains(text, "context deadline exceeded") {
		t.Errorf("found %q", text)
	}
	gone := s.cluster.cached(plugins, s.space)
	if err := s.cluster.remove(context.Background(), s.cluster.admin, plugins, gone, -1); err != nil {
		t.Fatal(err)
	}
	s.until("its stop goes on", func() bool { return len(s.events("vm", "acpi")) >= 1 })
}

func TestAMigrationCanBeDoneByAnotherProgram(t *testing.T) {
	s := newScene(t)
	script := filepath.Join(t.TempDir(), "move")
	noted := script + ".noted"
	text := "#!/bin/sh\necho \"$@\" >" + noted + "\ncase $1 in */good) exit 0;; esac\nexit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	times := s.handlers[s.source].times
	times.command = script
	defer func() { times.command = "" }()
	for name, phase := range map[string]string{"good": "Succeeded", "bad": "Failed"} {
		s.vmi(name, "LiveMigrate", "True", nil)
		_, err := s.cluster.admin.Resource(moves).Namespace(s.space).Create(s.ctx,
			&unstructured.Unstructured{Object: s.move(name)}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.until(phase, func() bool { return textOf(s.moves(name)[0], "status", "phase") == phase })
		said, _ := os.ReadFile(noted)
		if wanted := s.space + "/" + name + " " + s.source + " " + s.target + "\n"; string(said) != wanted {
			t.Errorf("expected %q, found %q", wanted, said)
		}
	}
}
