// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Annotations of a VMI that say how its guest and its migrations go.
const (
	stopsInKey  = "standin.virt-scout.io/guest-stop-seconds" // negative: it does not hear ACPI
	dirtyKey    = "standin.virt-scout.io/dirty-mib-per-second"
	moveTimeKey = "standin.virt-scout.io/move-seconds"
	failKey     = "standin.virt-scout.io/fail-move" // schedule, prepare, start or run
)

// running is a launcher pod with its processes.
type running struct {
	key, uid string // of the pod
	node     string
	vmi      string // namespace/name
	vmiUID   string
	one      *launcher
	calls    *caller
	ended    bool
	evicted  bool // by the kubelet, for pressure
}

// kubelets play those of all nodes: they start launchers, pass signals, and tell how pods end.
type kubelets struct {
	cluster *cluster
	journal *journal
	loop    *loop
	disks   string // below it a folder for each node, in it pods/ and plugins/
	lab     string // folder of the lab that runs the guests; empty: they are played
	domain  string // file with a domain to begin with
	stopsIn time.Duration
	changed func(node, vmi string) // a launcher's domain is another

	lock sync.Mutex
	pods map[string]*running // by UID
}

func (k *kubelets) podsFolder(node string) string { return filepath.Join(k.disks, node, "pods") }

func (k *kubelets) plays(node string) bool {
	about, err := os.Stat(k.podsFolder(node))
	return node != "" && err == nil && about.IsDir()
}

func (k *kubelets) run(ctx context.Context) {
	k.cluster.onChange(pods, func(pod object) { k.loop.add(keyOf(pod)) })
	k.loop.run(ctx, 4, k.work)
}

// of are the launchers of a VMI on a node whose folders are there.
func (k *kubelets) of(node, vmiUID string) []*running {
	k.lock.Lock()
	defer k.lock.Unlock()
	var found []*running
	for _, each := range k.pods {
		if each.node == node && each.vmiUID == vmiUID && !each.ended {
			found = append(found, each)
		}
	}
	return found
}

func (k *kubelets) byUID(uid string) *running {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.pods[uid]
}

func (k *kubelets) work(ctx context.Context, key string) (time.Duration, error) {
	k.endThoseWithoutPod(key)
	pod := k.cluster.cached(pods, key)
	if pod == nil || !k.plays(textOf(pod, "spec", "nodeName")) {
		return 0, nil
	}
	mine := k.byUID(textOf(pod, "metadata", "uid"))
	switch {
	case mine == nil && !isDeleting(pod) && !isFinal(textOf(pod, "status", "phase")):
		return 0, k.start(ctx, pod)
	case mine == nil || mine.ended:
		return 0, k.tellEnd(ctx, pod, mine)
	case isDeleting(pod):
		mine.one.guest.sigterm(mine.one)
		grace := numberOf(pod, 30, "metadata", "deletionGracePeriodSeconds")
		k.killAfter(mine, time.Duration(grace)*time.Second)
	}
	return 0, nil
}

// endThoseWithoutPod: a pod object that is gone takes its processes along.
func (k *kubelets) endThoseWithoutPod(key string) {
	k.lock.Lock()
	var left []*running
	for uid, each := range k.pods {
		pod := k.cluster.cached(pods, key)
		if each.key == key && (pod == nil || textOf(pod, "metadata", "uid") != uid) {
			left = append(left, each)
			delete(k.pods, uid)
		}
	}
	k.lock.Unlock()
	for _, each := range left {
		each.one.guest.die(each.one, "kubelet")
	}
}

func (k *kubelets) killAfter(mine *running, grace time.Duration) {
	mine.one.guest.later(grace, func() { mine.one.guest.die(mine.one, "kubelet") })
}

// evict ends a pod because its node is short of memory: nothing is written before it has ended.
func (k *kubelets) evict(mine *running, grace time.Duration) {
	k.lock.Lock()
	mine.evicted = true
	k.lock.Unlock()
	mine.one.guest.sigterm(mine.one)
	k.killAfter(mine, grace)
}

func (k *kubelets) start(ctx context.Context, pod object) error {
	space, _ := split(keyOf(pod))
	vmi, err := k.cluster.live(ctx, vmis, space+"/"+annotationOf(pod, "kubevirt.io/domain"))
	if err != nil || vmi == nil {
		return err
	}
	mine := &running{key: keyOf(pod), uid: textOf(pod, "metadata", "uid"),
		node: textOf(pod, "spec", "nodeName"), vmi: keyOf(vmi), vmiUID: textOf(vmi, "metadata", "uid")}
	domain := "" // a target has none before its migration is prepared
	if labelOf(pod, "kubevirt.io/migrationJobUID") == "" {
		if domain, err = k.domainOf(vmi); err != nil {
			return err
		}
	}
	if mine.one, err = start(k.podsFolder(mine.node), mine.uid, domain); err != nil {
		return err
	}
	k.breathe(mine, vmi, pod)
	if mine.calls, err = call(filepath.Join(mine.one.folder, socketsFolder)); err != nil {
		return err
	}
	k.lock.Lock()
	k.pods[mine.uid] = mine
	k.lock.Unlock()
	k.journal.tell(happening{Event: "launcher-started", VMI: mine.vmi, Node: mine.node,
		Object: textOf(pod, "metadata", "name")})
	return k.cluster.change(ctx, k.cluster.admin, pods, mine.key, "status", func(pod object) bool {
		set(pod, "Running", "status", "phase")
		set(pod, []any{object{"name": "compute", "image": "none", "imageID": "", "ready": true,
			"restartCount": int64(0), "state": object{"running": object{"startedAt": now()}}}},
			"status", "containerStatuses")
		setCondition(pod, "Ready", "True", "", "")
		return true
	})
}

// breathe gives the launcher its guest.
func (k *kubelets) breathe(mine *running, vmi, pod object) {
	g := &mine.one.guest
	g.memoryKiB = memoryKiB(vmi)
	g.dirtyMiB = int64(secondsOf(vmi, dirtyKey, 0) / time.Second)
	g.stopsIn = secondsOf(vmi, stopsInKey, k.stopsIn)
	g.patience = graceOfLauncher(pod)
	g.changed = func() { k.changed(mine.node, mine.vmi) }
	g.ended = func() {
		k.lock.Lock()
		mine.ended = true
		k.lock.Unlock()
		mine.calls.close()
		_ = os.RemoveAll(mine.one.folder)
		k.loop.add(mine.key)
		k.changed(mine.node, mine.vmi)
	}
	g.tell = func(event, by, text string) {
		_, name := split(mine.key)
		k.journal.tell(happening{Event: event, VMI: mine.vmi, Node: mine.node, Object: name, By: by, Text: text})
	}
	if k.lab != "" {
		space, name := split(mine.vmi)
		socket := filepath.Join(k.lab, mine.node, "sock/libvirt-sock")
		g.real = &realDomain{uri: "qemu+unix:///system?socket=" + socket, space: space, name: name}
		go g.watch(mine.one)
	}
}

// tellEnd: all of its containers have ended, or never ran.
func (k *kubelets) tellEnd(ctx context.Context, pod object, mine *running) error {
	if isDeleting(pod) {
		return k.cluster.remove(ctx, k.cluster.admin, pods, pod, 0)
	}
	if mine == nil {
		return nil
	}
	return k.cluster.change(ctx, k.cluster.admin, pods, keyOf(pod), "status", func(pod object) bool {
		if isFinal(textOf(pod, "status", "phase")) {
			return false
		}
		phase := "Succeeded"
		if mine.evicted {
			phase = "Failed"
			set(pod, "Evicted", "status", "reason")
			set(pod, "The node was low on resource: memory.", "status", "message")
			setCondition(pod, "DisruptionTarget", "True", "TerminationByKubelet", "")
		}
		set(pod, phase, "status", "phase")
		setCondition(pod, "Ready", "False", "PodCompleted", "")
		remove(pod, "status", "containerStatuses")
		return true
	})
}

func (k *kubelets) domainOf(vmi object) (string, error) {
	domain := plainDomain()
	if k.domain != "" {
		text, err := os.ReadFile(k.domain)
		if err != nil {
			return "", err
		}
		if domain, err = parsed(text); err != nil {
			return "", err
		}
	}
	domain["Spec"].(object)["Memory"] = object{"Value": memoryKiB(vmi), "Unit": "KiB"}
	kubevirtOf(domain)["GracePeriod"] = object{
		"DeletionGracePeriodSeconds": graceOf(vmi), "DeletionTimestamp": nil, "MarkedForGracefulShutdown": nil}
	space, name := split(keyOf(vmi))
	uid := textOf(vmi, "metadata", "uid")
	return named(domain, space, name, uid, uid)
}

func graceOf(vmi object) int64 { return numberOf(vmi, 30, "spec", "terminationGracePeriodSeconds") }

func memoryKiB(vmi object) int64 {
	quantity, err := resource.ParseQuantity(textOf(vmi, "spec", "domain", "memory", "guest"))
	if err != nil {
		return 128 << 10
	}
	return quantity.Value() >> 10
}

// secondsOf reads an annotation with a number of seconds, such as 0.5.
func secondsOf(vmi object, key string, otherwise time.Duration) time.Duration {
	seconds, err := strconv.ParseFloat(annotationOf(vmi, key), 64)
	if err != nil {
		return otherwise
	}
	return time.Duration(seconds * float64(time.Second))
}

// graceOfLauncher is its own argument: who changes the pod at its creation changes that.
func graceOfLauncher(pod object) time.Duration {
	for _, each := range listOf(pod, "spec", "containers") {
		container, _ := each.(object)
		command := listOf(container, "command")
		for at := range command {
			if command[at] == "--grace-period-seconds" && at+1 < len(command) {
				seconds, _ := strconv.Atoi(fmt.Sprint(command[at+1]))
				return time.Duration(seconds) * time.Second
			}
		}
	}
	return (corev1.DefaultTerminationGracePeriodSeconds + 15) * time.Second
}
