// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settings of the stand-in for KubeVirt; the defaults are KubeVirt's own numbers, or short.
type settings struct {
	kubeconfig, disks, domain, lab string
	fork, scheduler                bool
	backOff, ready, stopsIn        time.Duration
	times                          moveTimes
}

func readSettings(arguments []string) (settings, error) {
	var chosen settings
	flags := flag.NewFlagSet("kubevirt", flag.ContinueOnError)
	flags.StringVar(&chosen.kubeconfig, "kubeconfig", "", "of a user who may do everything, also in the name of others")
	flags.StringVar(&chosen.disks, "disks", "", "folder with one folder for each node, and in it pods/ and plugins/")
	flags.StringVar(&chosen.domain, "domain", "", "file with the answer of a GetDomain to begin with")
	flags.StringVar(&chosen.lab, "lab", "", "folder of a lab (tests/lab) whose hosts run the guests")
	flags.BoolVar(&chosen.fork, "fork", false, "others may write VMIs' status")
	flags.BoolVar(&chosen.scheduler, "scheduler", false, "target pods are left to the cluster's own scheduler")
	flags.DurationVar(&chosen.backOff, "back-off", 20*time.Second, "after a first failed evacuation")
	flags.DurationVar(&chosen.ready, "ready-time", 300*time.Millisecond, "until a bound target pod is ready")
	flags.DurationVar(&chosen.times.prepare, "prepare-time", 100*time.Millisecond, "until a target is ready for its guest")
	flags.DurationVar(&chosen.times.run, "move-time", time.Second, "that a migration runs")
	flags.DurationVar(&chosen.stopsIn, "guest-stop-time", 2*time.Second, "from its first ACPI request to a guest's end")
	flags.StringVar(&chosen.times.command, "migrate-command", "",
		"does the migration: NAMESPACE/NAME SOURCE TARGET; exit code 0: the guest runs on the target")
	if err := flags.Parse(arguments); err != nil {
		return chosen, err
	}
	if chosen.kubeconfig == "" || chosen.disks == "" {
		return chosen, errors.New("expected --kubeconfig FILE and --disks FOLDER")
	}
	return chosen, nil
}

// standin is all of KubeVirt that is played.
type standin struct {
	cluster  *cluster
	journal  *journal
	kubelets *kubelets
	handlers map[string]*handler
}

// kubevirt plays KubeVirt until its standard input ends.
func kubevirt(arguments []string) error {
	chosen, err := readSettings(arguments)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	s, err := startStandin(ctx, chosen, os.Stdout)
	if err != nil {
		return err
	}
	s.journal.tell(happening{Event: "ready"})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := s.obey(strings.Fields(lines.Text())); err != nil {
			s.journal.tell(happening{Event: "refused", Text: err.Error()})
			continue
		}
		s.journal.tell(happening{Event: "done", Text: lines.Text()})
	}
	return lines.Err()
}

func startStandin(ctx context.Context, chosen settings, out io.Writer) (*standin, error) {
	c, err := openCluster(chosen.kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	told := &journal{out: out}
	s := &standin{cluster: c, journal: told, handlers: map[string]*handler{}}
	s.kubelets = &kubelets{cluster: c, journal: told, loop: newLoop(), disks: chosen.disks, domain: chosen.domain, lab: chosen.lab,
		stopsIn: chosen.stopsIn, pods: map[string]*running{}, changed: func(node, vmi string) {
			if one := s.handlers[node]; one != nil {
				one.touch(vmi)
			}
		}}
	api := &virtAPI{cluster: c, journal: told, fork: chosen.fork}
	if err := api.run(ctx); err != nil {
		return nil, err
	}
	if err := s.makeHandlers(&chosen.times); err != nil {
		return nil, err
	}
	s.kubelets.run(ctx)
	for _, each := range s.handlers {
		each.run(ctx)
	}
	(&vmiController{cluster: c, loop: newLoop()}).run(ctx)
	(&evacuationController{cluster: c, journal: told, loop: newLoop()}).run(ctx)
	(&migrationController{cluster: c, journal: told, loop: newLoop(), backOff: chosen.backOff,
		ready: chosen.ready, scheduler: chosen.scheduler, running: map[string]string{}}).run(ctx)
	return s, nil
}

func (s *standin) makeHandlers(times *moveTimes) error {
	evaluator, err := newConditions()
	if err != nil {
		return err
	}
	folders, err := os.ReadDir(s.kubelets.disks)
	if err != nil {
		return err
	}
	for _, each := range folders {
		node := each.Name()
		called := &hooks{cluster: s.cluster, journal: s.journal, conditions: evaluator, node: node,
			folder: filepath.Join(s.kubelets.disks, node, "plugins")}
		s.handlers[node] = newHandler(node, s.cluster, s.journal, s.kubelets, called, times)
	}
	return nil
}

// Commands: `mark NS/NAME`: SIGTERM to its launcher; `evict NS/NAME SECONDS`: the same by a kubelet under
// pressure, which kills it after so long; `kill NS/NAME`; `hang NS/NAME`, `go NS/NAME`.
func (s *standin) obey(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("expected a command and NAMESPACE/NAME, found %q", words)
	}
	vmi := s.cluster.cached(vmis, words[1])
	var one *running
	if handler := s.handlers[textOf(vmi, "status", "nodeName")]; handler != nil {
		one = handler.source(vmi)
	}
	if one == nil {
		return fmt.Errorf("expected a VMI with a launcher, found %q", words[1])
	}
	switch {
	case words[0] == "mark":
		one.one.guest.sigterm(one.one)
	case words[0] == "evict" && len(words) == 3:
		seconds, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return err
		}
		s.kubelets.evict(one, time.Duration(seconds*float64(time.Second)))
	case words[0] == "kill":
		one.one.guest.die(one.one, "kill")
	case words[0] == "hang":
		one.one.hang(true)
	case words[0] == "go":
		one.one.hang(false)
	default:
		return fmt.Errorf("unknown command %q", words)
	}
	return nil
}
