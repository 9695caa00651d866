// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const lookEvery = 500 * time.Millisecond

// realDomain is a guest's where libvirt really runs it, such as a host of the lab (tests/lab). The launcher then
// shows what libvirt tells, beside KubeVirt's own metadata, which are its own: they do not go along when the
// guest moves.
type realDomain struct {
	uri         string
	space, name string // of the VMI
	metadata    object // to begin with; nil: somebody says a domain when it is time
}

func (r *realDomain) domain() string { return r.space + "_" + r.name }

// pressButton is ACPI's.
func (r *realDomain) pressButton() error {
	_, err := virsh(r.uri, "shutdown "+r.domain()+" --mode acpi")
	return err
}

func (r *realDomain) destroy() {
	_, _ = virsh(r.uri, "destroy "+r.domain()+" --graceful") // it may have ended by itself
}

func (r *realDomain) undefine() {
	_, _ = virsh(r.uri, "undefine "+r.domain())
}

func (r *realDomain) stats() string {
	seen, err := look(r.uri, r.domain())
	if err != nil {
		return ""
	}
	text, _ := statsJSON(seen, r.domain())
	return text
}

// watch shows the domain as it is, and ends the guest's story when libvirt says that it is over.
func (g *guest) watch(one *launcher) {
	ran, fault := false, ""
	for ; !g.isOff(); time.Sleep(lookEvery) {
		seen, err := look(g.real.uri, g.real.domain())
		shown := false
		if err == nil {
			shown, err = one.show(g.real, seen)
		}
		if err != nil {
			if fault != err.Error() { // libvirt may be away for long
				fault = err.Error()
				g.tell("fault", "libvirt", fault)
			}
			continue
		}
		if shown {
			g.changed()
		}
		switch {
		case seen.alive():
			ran = ran || !seen.comes()
		case ran && seen.reason == "migrated":
			// virt-handler has the rest of it.
			g.later(undefineLimit, func() { g.end(one) })
			return
		case ran && seen.reason == "shutdown":
			g.turnOff(one, "Shutdown", "guest-stopped", "guest")
		case ran:
			g.turnOff(one, "Destroyed", "guest-killed", "libvirt")
		}
	}
}

// show is true if another domain, or another state of it, is answered now.
func (one *launcher) show(real *realDomain, seen snapshot) (bool, error) {
	one.lock.Lock()
	defer one.lock.Unlock()
	metadata := real.metadata
	if one.domain != "" {
		domain := object{}
		if err := json.Unmarshal([]byte(one.domain), &domain); err != nil {
			return false, err
		}
		metadata = kubevirtOf(domain)
	}
	if seen.state == "" || metadata == nil {
		return false, nil
	}
	text, err := domainJSON(seen, real.space, real.name, metadata)
	if err != nil || text == one.domain {
		return false, err
	}
	one.domain = text
	return true, nil
}

// realGuest is the launcher of one real guest, without a cluster: SIGTERM marks it, its standard input's end ends
// it, and it ends by itself some time after its guest.
func realGuest(arguments []string) error {
	flags := flag.NewFlagSet("guest", flag.ContinueOnError)
	pods := flags.String("pods", "", "folder of pods; must be there")
	pod := flags.String("pod-uid", podUID(0), "of its pod")
	uri := flags.String("libvirt", "", "the libvirt that runs the domain")
	name := flags.String("name", "", "of the domain: NAMESPACE_NAME; it may come later, by migration")
	vmi := flags.String("vmi-uid", "", "of its VMI")
	grace := flags.Duration("grace", 30*time.Second, "of its VMI; the guest is killed 15 s later")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	real := &realDomain{uri: *uri, metadata: object{"UID": *vmi, "Migration": nil, "GracePeriod": object{
		"DeletionGracePeriodSeconds": int(grace.Seconds()), "DeletionTimestamp": nil,
		"MarkedForGracefulShutdown": nil}}}
	var found bool
	if real.space, real.name, found = strings.Cut(*name, "_"); !found {
		return fmt.Errorf("expected --name NAMESPACE_NAME, found %q", *name)
	}
	one, err := start(*pods, *pod, "")
	if err != nil {
		return err
	}
	return one.serve(real, *grace+15*time.Second)
}

// serve returns when the launcher has ended.
func (one *launcher) serve(real *realDomain, patience time.Duration) error {
	seen, err := look(real.uri, real.domain())
	if err == nil {
		_, err = one.show(real, seen)
	}
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	g := &one.guest
	g.real, g.patience, g.changed, g.ended = real, patience, func() {}, func() { close(ended) }
	g.tell = func(event, by, text string) { fmt.Println(strings.TrimSpace(event + " " + by + " " + text)) }
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Println("ready")
	go g.watch(one)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		}
		g.end(one)
	}()
	for {
		select {
		case <-terminated:
			g.sigterm(one)
		case <-ended:
			return os.RemoveAll(one.folder)
		}
	}
}

// ask calls a method without arguments of a launcher that runs, and prints the text of its answer.
func ask(arguments []string) error {
	flags := flag.NewFlagSet("ask", flag.ContinueOnError)
	pods := flags.String("pods", "", "folder of pods")
	pod := flags.String("pod-uid", podUID(0), "of its pod")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("expected one METHOD")
	}
	one, err := call(filepath.Join(*pods, *pod, socketsFolder))
	if err != nil {
		return err
	}
	defer one.close()
	answer, err := one.invoke(context.Background(), flags.Arg(0), 20*time.Second)
	if err != nil {
		return err
	}
	text, err := textIn(answer)
	fmt.Println(string(text))
	return err
}
