// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// How long a launcher waits for its domain to be undefined after its guest is gone.
const undefineLimit = 15 * time.Second

// guest is what a launcher runs, and how that ends (dossier §3.1, §3.2). With the zero value the
// launcher only answers.
type guest struct {
	real      *realDomain // nil: it is played
	memoryKiB int64
	dirtyMiB  int64         // a second
	stopsIn   time.Duration // after its first ACPI request; negative: it does not hear it
	patience  time.Duration // of the launcher, from SIGTERM until it kills its guest: --grace-period-seconds
	changed   func()        // the domain is another, or gone
	ended     func()        // the launcher has ended
	tell      func(event, by, text string)

	lock  sync.Mutex
	told  bool // SIGTERM came
	acpi  bool
	off   bool
	ends  sync.Once
	stops []*time.Timer
	begun time.Time // of the migration that runs
	takes time.Duration
}

// obey does what only virt-handler may ask for. False: a launcher knows no such method, or this one none
// of them.
func (g *guest) obey(one *launcher, method string) bool {
	if g.tell == nil {
		return false
	}
	switch strings.TrimPrefix(method, "/kubevirt.cmd.v1.Cmd/") {
	case "ShutdownVirtualMachine":
		g.shutDown(one)
	case "KillVirtualMachine":
		g.kill(one, "virt-handler")
	case "DeleteVirtualMachine":
		if g.real != nil {
			g.real.undefine()
		}
		one.say("")
		g.changed()
		// Once the answer has left.
		g.later(10*time.Millisecond, func() { g.end(one) })
	default:
		return false
	}
	return true
}

func (g *guest) later(after time.Duration, what func()) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.stops = append(g.stops, time.AfterFunc(after, what))
}

// sigterm is what reaches the launcher's process, and with it the grace clock's begin.
func (g *guest) sigterm(one *launcher) {
	if one.text() == "" { // no domain yet, so nothing to mark
		g.end(one)
		return
	}
	g.lock.Lock()
	again := g.told
	g.told = true
	g.lock.Unlock()
	if again {
		return
	}
	if err := one.mark(); err != nil {
		g.tell("fault", "launcher", err.Error())
	}
	g.tell("mark", "", "")
	g.later(g.patience, func() { g.kill(one, "virt-launcher") })
	g.changed()
}

// shutDown presses the power button.
func (g *guest) shutDown(one *launcher) {
	g.lock.Lock()
	first, off := !g.acpi, g.off
	g.acpi = true
	g.lock.Unlock()
	if off {
		return
	}
	g.tell("acpi", "virt-handler", "")
	if !first {
		return
	}
	_ = one.change(func(domain object) {
		kubevirtOf(domain)["GracePeriod"].(object)["DeletionTimestamp"] = now()
	})
	if g.real != nil {
		if err := g.real.pressButton(); err != nil {
			g.tell("fault", "libvirt", err.Error())
		}
	} else if g.stopsIn >= 0 {
		g.later(g.stopsIn, func() { g.turnOff(one, "Shutdown", "guest-stopped", "guest") })
	}
	g.changed()
}

func (g *guest) kill(one *launcher, by string) {
	if g.real != nil && !g.isOff() {
		g.real.destroy()
	}
	g.turnOff(one, "Destroyed", "guest-killed", by)
}

// turnOff ends the guest, once, for libvirt's reason.
func (g *guest) turnOff(one *launcher, reason, event, by string) {
	g.lock.Lock()
	done := g.off
	g.off = true
	g.lock.Unlock()
	if done || one.text() == "" {
		return
	}
	_ = one.setStatus("Shutoff", reason)
	g.tell(event, by, "")
	g.later(undefineLimit, func() { g.end(one) })
	g.changed()
}

// isOff tells whether the guest does not run here any more.
func (g *guest) isOff() bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.off
}

// die is SIGKILL for all of the pod's processes.
func (g *guest) die(one *launcher, by string) {
	g.lock.Lock()
	ran := !g.off
	g.off = true
	g.lock.Unlock()
	if ran && one.runsGuest() {
		if g.real != nil {
			g.real.destroy()
		}
		g.tell("guest-killed", by, "")
	}
	g.end(one)
}

// end is the launcher's own, after its guest's.
func (g *guest) end(one *launcher) {
	g.ends.Do(func() {
		g.lock.Lock()
		for _, each := range g.stops {
			each.Stop()
		}
		g.off = true
		g.lock.Unlock()
		go func() {
			one.server.Stop()
			g.tell("launcher-ended", "", "")
			g.ended()
		}()
	})
}

// dirtyRate is in MiB per second.
func (g *guest) dirtyRate() int64 {
	if g.real == nil {
		return g.dirtyMiB
	}
	rate, err := dirtyRate(g.real.uri, g.real.domain())
	if err != nil {
		g.tell("fault", "libvirt", err.Error())
	}
	return rate
}

// moves: a migration runs that takes so long; 0: none does any more.
func (g *guest) moves(takes time.Duration) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.begun, g.takes = time.Now(), takes
}

// left: the guest runs on another node now.
func (g *guest) left(one *launcher) {
	g.lock.Lock()
	g.off = true
	g.lock.Unlock()
	_ = one.setStatus("Shutoff", "Migrated")
}

// stats is the answer of GetDomainStats as far as forecasts of a migration read it.
func (g *guest) stats() string {
	if g.real != nil {
		return g.real.stats()
	}
	text, _ := json.Marshal(object{
		"Memory":               object{"TotalSet": true, "Total": g.memoryKiB, "RSSSet": true, "RSS": g.memoryKiB},
		"DirtyRate":            object{}, // as libvirt has it while nobody has had it measured
		"MigrateDomainJobInfo": g.job(), "Vcpu": nil, "Net": nil, "Block": nil})
	return string(text)
}

// job is what libvirt tells of a migration that copies evenly.
func (g *guest) job() object {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.takes <= 0 {
		return object{}
	}
	total := float64(g.memoryKiB << 10)
	done := min(1, time.Since(g.begun).Seconds()/g.takes.Seconds())
	return object{"DataTotalSet": true, "DataTotal": int64(total),
		"DataProcessedSet": true, "DataProcessed": int64(total * done),
		"DataRemainingSet": true, "DataRemaining": int64(total * (1 - done)),
		"MemoryBpsSet": true, "MemoryBps": int64(total / g.takes.Seconds()),
		"MemDirtyRateSet": true, "MemDirtyRate": g.dirtyMiB << 20}
}
