// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	levelLabel  = "kubevirt/host-model-migratability-level"
	levelsLimit = 5 * time.Minute
)

// levels follows the level labels of nodes that fill has made, and knows what they should be.
type levels struct {
	mutex  sync.Mutex
	change *sync.Cond
	labels []document // of each kind
	reach  [][]int    // of each kind: the kinds that its guests can go to
	kinds  map[string]int
	shown  map[string]string // node to label
	seen   map[string]int    // node to the kind that its labels say
}

// readReach reads "0,1;1;2": for each kind the kinds that its guests can go to.
func readReach(text string) ([][]int, error) {
	var reach [][]int
	for _, part := range strings.Split(text, ";") {
		var kinds []int
		for _, word := range strings.FieldsFunc(part, func(r rune) bool { return r == ',' }) {
			kind, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("--reach: %w", err)
			}
			kinds = append(kinds, kind)
		}
		reach = append(reach, kinds)
	}
	return reach, nil
}

// expected is the rule: of 100 other nodes, how many a guest of such a node could go to.
func (l *levels) expected(kind int) string {
	count := make([]int, len(l.labels))
	for _, each := range l.kinds {
		count[each]++
	}
	destinations := 0
	for _, target := range l.reach[kind] {
		destinations += count[target]
		if target == kind {
			destinations--
		}
	}
	return strconv.Itoa(100 * destinations / (len(l.kinds) - 1))
}

func (l *levels) right() bool {
	values := make([]string, len(l.labels))
	for kind := range values {
		values[kind] = l.expected(kind)
	}
	for node, kind := range l.kinds {
		if l.shown[node] != values[kind] {
			return false
		}
	}
	return true
}

// kindOf is by the label of the host-model, which differs between all kinds.
func (l *levels) kindOf(labels map[string]string) int {
	return slices.IndexFunc(l.labels, func(kind document) bool {
		for key := range kind {
			if strings.HasPrefix(key, hostModel) {
				_, has := labels[key]
				return has
			}
		}
		return false
	})
}

const hostModel = "host-model-cpu.node.kubevirt.io/"

func (l *levels) take(object any) {
	meta, is := object.(metav1.Object)
	if !is {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	labels := meta.GetLabels()
	level, kind := labels[levelLabel], l.kindOf(labels)
	if known, has := l.seen[meta.GetName()]; has && known == kind && l.shown[meta.GetName()] == level {
		return
	}
	l.shown[meta.GetName()], l.seen[meta.GetName()] = level, kind
	l.change.Broadcast()
}

// await answers how long it took until it is so.
func (l *levels) await(since time.Time, what string, so func() bool) (time.Duration, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ticker := time.AfterFunc(levelsLimit, l.change.Broadcast)
	defer ticker.Stop()
	for !so() {
		if time.Since(since) > levelsLimit {
			return 0, fmt.Errorf("%s: not within %s", what, levelsLimit)
		}
		l.change.Wait()
	}
	return time.Since(since), nil
}

// watchLevels says "right" once all labels are as they should be; then it makes nodes ones of another
// kind, one after the other, and says of each when that was seen and when all labels were right again.
func watchLevels(config *rest.Config, nodes, changes int, files []string, reach string) error {
	l := &levels{kinds: map[string]int{}, shown: map[string]string{}, seen: map[string]int{}}
	l.change = sync.NewCond(&l.mutex)
	var err error
	if l.reach, err = readReach(reach); err != nil {
		return err
	}
	for _, file := range files {
		labels, err := readLabels(file)
		if err != nil {
			return err
		}
		l.labels = append(l.labels, labels)
	}
	if len(l.reach) != len(l.labels) {
		return fmt.Errorf("--reach: expected %d kinds, found %d", len(l.labels), len(l.reach))
	}
	for i := range nodes {
		l.kinds[name(i)] = i % len(l.labels)
	}
	informer, err := newInformer(config, "metadata")
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: l.take, UpdateFunc: func(_, now any) { l.take(now) },
	})
	if err != nil {
		return err
	}
	go informer.Run(make(chan struct{}))
	if _, err := l.await(time.Now(), "all nodes", func() bool { return len(l.seen) == nodes }); err != nil {
		return err
	}
	fmt.Println("watching")
	if _, err := l.await(time.Now(), "levels of all nodes", l.right); err != nil {
		return err
	}
	fmt.Println("right")
	return l.changeNodes(config, changes)
}

func (l *levels) changeNodes(config *rest.Config, changes int) error {
	fleet, err := newFleet(config)
	if err != nil {
		return err
	}
	for i := range changes {
		// Out of step with whatever is done at intervals.
		time.Sleep(time.Second + time.Duration(i)*37*time.Millisecond)
		node, old := i*7, l.kinds[name(i*7)]
		kind := (old + 1) % len(l.labels)
		labels := document{}
		for key := range l.labels[old] {
			labels[key] = nil
		}
		for key, value := range l.labels[kind] {
			labels[key] = value
		}
		l.mutex.Lock()
		l.kinds[name(node)] = kind
		l.mutex.Unlock()
		since := time.Now()
		if _, err := fleet.patch(node, "virt-handler", document{"metadata": document{"labels": labels}}); err != nil {
			return err
		}
		seen, err := l.await(since, "a change", func() bool { return l.seen[name(node)] == kind })
		if err != nil {
			return err
		}
		right, err := l.await(since, "levels after a change", l.right)
		if err != nil {
			return err
		}
		fmt.Printf("changed %.6f %.6f\n", seen.Seconds(), right.Seconds())
	}
	return nil
}
