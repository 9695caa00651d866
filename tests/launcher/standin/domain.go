// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type object = map[string]any

// The answer of GetDomain of the first moment: that of the file under another name, or a plain guest.
func firstDomain(file, space string, number int) (string, error) {
	domain := plainDomain()
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		domain = object{}
		if err := json.Unmarshal(text, &domain); err != nil {
			return "", err
		}
	}
	return named(domain, space, fmt.Sprintf("vm-%d", number),
		fmt.Sprintf("067416a0-7a68-447b-90e8-%012d", number),
		fmt.Sprintf("5e1f0000-0000-4000-8000-%012d", number))
}

// The text of a domain as that of this VMI.
func named(domain object, space, name, uuid, uid string) (string, error) {
	domain["ObjectMeta"] = object{"name": name, "namespace": space}
	spec := domain["Spec"].(object)
	spec["Name"] = space + "_" + name
	spec["UUID"] = uuid
	kubevirtOf(domain)["UID"] = uid
	text, err := json.Marshal(domain)
	return string(text), err
}

// What KubeVirt keeps of a domain.
func kubevirtOf(domain object) object {
	return domain["Spec"].(object)["Metadata"].(object)["KubeVirt"].(object)
}

func plainDomain() object {
	feature := func(name string) object { return object{"Name": name, "Policy": "require"} }
	return object{
		"kind": "Domain", "apiVersion": "1.2.2",
		"Spec": object{
			"Type":   "kvm",
			"Memory": object{"Value": 2097152, "Unit": "KiB"},
			"OS":     object{"Type": object{"OS": "hvm", "Arch": "x86_64", "Machine": "pc-q35-7.2"}},
			"CPU": object{"Mode": "custom", "Model": "Skylake-Server-IBRS",
				"Features": []object{feature("ss"), feature("vmx")}, "Topology": nil},
			"VCPU":    object{"Placement": "static", "CPUs": 2},
			"Devices": object{"HostDevices": nil, "Interfaces": nil},
			"Metadata": object{"KubeVirt": object{
				"GracePeriod": object{"DeletionGracePeriodSeconds": 30, "DeletionTimestamp": nil,
					"MarkedForGracefulShutdown": nil},
				"Migration": nil}},
		},
		"Status": object{"Status": "Running", "Reason": "Unknown"},
	}
}

// Changes the domain that is answered; an error if there is none.
func (one *launcher) change(how func(domain object)) error {
	one.lock.Lock()
	defer one.lock.Unlock()
	domain := object{}
	if err := json.Unmarshal([]byte(one.domain), &domain); err != nil {
		return err
	}
	how(domain)
	text, err := json.Marshal(domain)
	if err == nil {
		one.domain = string(text)
	}
	return err
}

func (one *launcher) setStatus(status, reason string) error {
	return one.change(func(domain object) {
		domain["Status"] = object{"Status": status, "Reason": reason}
	})
}

// SIGTERM came.
func (one *launcher) mark() error {
	return one.change(func(domain object) {
		kubevirtOf(domain)["GracePeriod"].(object)["MarkedForGracefulShutdown"] = true
	})
}

// runsGuest: not so if there is no domain, it has ended, or waits for a guest that is still elsewhere.
func (one *launcher) runsGuest() bool {
	domain := object{}
	if json.Unmarshal([]byte(one.text()), &domain) != nil {
		return false
	}
	said := domain["Status"].(object)
	return said["Status"] != "Shutoff" && said["Status"] != "Crashed" && said["Reason"] != "Migration"
}
