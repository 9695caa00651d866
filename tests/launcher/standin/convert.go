// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/xml"
	"strconv"
)

// Of libvirt's domain XML what KubeVirt's schema shows under the same names: the fields' own names are the keys
// of the answer (dossier §1.6).
type domainSpec struct {
	XMLName       xml.Name
	Type          string  `xml:"type,attr"`
	Name          string  `xml:"name"`
	UUID          string  `xml:"uuid"`
	Memory        memory  `xml:"memory"`
	CurrentMemory *memory `xml:"currentMemory"`
	OS            struct {
		Type struct {
			OS      string `xml:",chardata"`
			Arch    string `xml:"arch,attr"`
			Machine string `xml:"machine,attr"`
		} `xml:"type"`
		Kernel     string `xml:"kernel"`
		Initrd     string `xml:"initrd"`
		KernelArgs string `xml:"cmdline"`
	} `xml:"os"`
	Devices struct {
		Emulator    string  `xml:"emulator"`
		Interfaces  []typed `xml:"interface"`
		HostDevices []typed `xml:"hostdev"`
		Filesystems []typed `xml:"filesystem"`
		Serials     []typed `xml:"serial"`
	} `xml:"devices"`
	Clock struct {
		Offset string  `xml:"offset,attr"`
		Timer  []timer `xml:"timer"`
	} `xml:"clock"`
	Metadata struct{ KubeVirt object } `xml:"-"`
	CPU      struct {
		Mode     string    `xml:"mode,attr"`
		Model    string    `xml:"model"`
		Features []feature `xml:"feature"`
		Topology *struct {
			Sockets uint32 `xml:"sockets,attr"`
			Cores   uint32 `xml:"cores,attr"`
			Threads uint32 `xml:"threads,attr"`
		} `xml:"topology"`
	} `xml:"cpu"`
	VCPU *struct {
		Placement string `xml:"placement,attr"`
		CPUs      uint32 `xml:",chardata"`
	} `xml:"vcpu"`
	LaunchSecurity *typed `xml:"launchSecurity"`
	OnReboot       string `xml:"on_reboot"`
}

type memory struct {
	Value uint64 `xml:",chardata"`
	Unit  string `xml:"unit,attr"`
}

type typed struct {
	Type string `xml:"type,attr"`
}

type timer struct {
	Name       string `xml:"name,attr"`
	TickPolicy string `xml:"tickpolicy,attr"`
	Frequency  string `xml:"frequency,attr"`
}

type feature struct {
	Name   string `xml:"name,attr"`
	Policy string `xml:"policy,attr"`
}

// virsh's words to KubeVirt's.
var (
	statuses = map[string]string{"no state": "NoState", "running": "Running", "idle": "Blocked",
		"paused": "Paused", "in shutdown": "ShuttingDown", "shut off": "Shutoff", "crashed": "Crashed",
		"pmsuspended": "PMSuspended"}
	reasons = map[string]map[string]string{
		"in shutdown": {"user": "User"},
		"shut off": {"shutdown": "Shutdown", "destroyed": "Destroyed", "migrated": "Migrated",
			"crashed": "Crashed", "saved": "Saved", "failed": "Failed", "from snapshot": "FromSnapshot"},
		"crashed": {"panicked": "Panicked"},
		"paused": {"user": "User", "migrating": "Migration", "saving": "Save", "dumping": "Dump",
			"I/O error": "IOError", "watchdog": "Watchdog", "from snapshot": "FromSnapshot",
			"shutting down": "ShuttingDown", "creating snapshot": "Snapshot", "crashed": "Crashed",
			"starting up": "StartingUp", "post-copy": "Postcopy", "post-copy failed": "PostcopyFailed"},
	}
)

func orElse(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

// The answer of GetDomain; empty without a domain.
func domainJSON(seen snapshot, space, name string, kubevirt object) (string, error) {
	if seen.state == "" {
		return "", nil
	}
	var spec domainSpec
	if err := xml.Unmarshal([]byte(seen.xml), &spec); err != nil {
		return "", err
	}
	spec.Metadata.KubeVirt = kubevirt
	text, err := json.Marshal(object{
		"kind": "Domain", "apiVersion": "1.2.2",
		"ObjectMeta": object{"name": name, "namespace": space, "creationTimestamp": nil},
		"Spec":       spec,
		"Status": object{"Status": orElse(statuses[seen.state], "NoState"),
			"Reason":     orElse(reasons[seen.state][seen.reason], "Unknown"),
			"Interfaces": nil, "GuestPanicInfo": nil, "PanicCount": 0},
	})
	return string(text), err
}

// The answer of GetDomainStats: each counter with the word whether it is set (dossier §1.7).
func statsJSON(seen snapshot, name string) (string, error) {
	if !seen.alive() {
		return "", nil
	}
	var spec domainSpec
	if err := xml.Unmarshal([]byte(seen.xml), &spec); err != nil {
		return "", err
	}
	counters := func(of func(string) (uint64, bool), names map[string]string) object {
		told := object{}
		for name, key := range names {
			told[name], told[name+"Set"] = of(key)
		}
		return told
	}
	stat := func(key string) (uint64, bool) {
		number, err := strconv.ParseUint(seen.stats[key], 10, 64)
		return number, err == nil
	}
	job := func(key string) (uint64, bool) {
		number, found := seen.job[key]
		if key == "memory_dirty_rate" { // of libvirt in pages, of KubeVirt in bytes
			number *= seen.job["memory_page_size"]
		}
		return number, found && seen.migrates()
	}
	text, err := json.Marshal(object{
		"Name": name, "UUID": spec.UUID,
		"Cpu": counters(stat, map[string]string{"Time": "cpu.time", "User": "cpu.user", "System": "cpu.system"}),
		"Memory": counters(stat, map[string]string{"Total": "balloon.maximum", "RSS": "balloon.rss",
			"ActualBalloon": "balloon.current", "Unused": "balloon.unused", "Available": "balloon.available"}),
		"MigrateDomainJobInfo": counters(job, map[string]string{"DataTotal": "data_total",
			"DataProcessed": "data_processed", "DataRemaining": "data_remaining", "MemoryBps": "memory_bps",
			"MemDirtyRate": "memory_dirty_rate"}),
		"DirtyRate": counters(stat, map[string]string{"CalcStatus": "dirtyrate.calc_status",
			"CalcStartTime": "dirtyrate.calc_start_time", "CalcPeriod": "dirtyrate.calc_period",
			"MegabytesPerSecond": "dirtyrate.megabytes_per_second"}),
		"Vcpu": nil, "Net": nil, "Block": nil, "Load": nil,
	})
	return string(text), err
}
