// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	writers = 8
	managed = 1700 // bytes of the managed fields of a kubelet's status
)

type document = map[string]any

// fleet writes nodes as those do who write them in a cluster, each with its own managed fields.
type fleet struct {
	client rest.Interface
}

func newFleet(config *rest.Config) (fleet, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fleet{}, err
	}
	return fleet{client.CoreV1().RESTClient()}, nil
}

func fill(config *rest.Config, nodes, bytes int, files []string) error {
	fleet, err := newFleet(config)
	if err != nil {
		return err
	}
	kinds := make([]document, len(files))
	for i, file := range files {
		if kinds[i], err = readLabels(file); err != nil {
			return err
		}
	}
	return each(nodes, func(i int) error { return fleet.create(i, bytes, kinds[i%len(kinds)]) })
}

// touch: heartbeats in turn, and every tenth change is one of a label.
func touch(config *rest.Config, nodes, updates int) error {
	fleet, err := newFleet(config)
	if err != nil {
		return err
	}
	return each(updates, func(i int) error {
		node := i % nodes
		if i%10 == 9 {
			labels := document{"cpumanager": fmt.Sprint(time.Now().UnixNano())}
			_, err := fleet.patch(node, "virt-handler", document{"metadata": document{"labels": labels}})
			return err
		}
		_, err := fleet.patch(node, "kubelet", document{"status": document{"conditions": conditions(time.Now())}}, "status")
		return err
	})
}

// create is one node from its registration until it runs machines.
func (f fleet) create(i, bytes int, labels document) error {
	body, err := json.Marshal(registered(i))
	if err != nil {
		return err
	}
	options := &metav1.CreateOptions{FieldManager: "kubelet"}
	err = f.client.Post().Resource("nodes").VersionedParams(options, scheme.ParameterCodec).
		Body(body).Do(context.Background()).Error()
	if err != nil {
		return err
	}
	heartbeat := document{"kubevirt.io/heartbeat": time.Now().UTC().Format(time.RFC3339)}
	served, err := f.patch(i, "virt-handler", document{"metadata": document{"labels": labels, "annotations": heartbeat}})
	if err != nil {
		return err
	}
	_, err = f.patch(i, "kubelet", document{"status": running(i, bytes-len(served))}, "status")
	return err
}

// patch answers the node as the server sends it.
func (f fleet) patch(node int, manager string, change document, subresource ...string) ([]byte, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	options := &metav1.PatchOptions{FieldManager: manager}
	return f.client.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name(node)).SubResource(subresource...).
		VersionedParams(options, scheme.ParameterCodec).Body(body).Do(context.Background()).Raw()
}

func name(i int) string { return fmt.Sprintf("worker-%04d.cluster.example.com", i) }

func registered(i int) document {
	return document{
		"apiVersion": "v1", "kind": "Node",
		"metadata": document{
			"name": name(i),
			"labels": document{
				"kubernetes.io/hostname": name(i), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
				"node-role.kubernetes.io/worker": "", "topology.kubernetes.io/region": "east",
				"topology.kubernetes.io/zone": fmt.Sprintf("east-%d", i%3), "kubevirt.io/schedulable": "true",
				"machine-type.node.kubevirt.io/q35": "true", "machine-type.node.kubevirt.io/pc-q35-rhel9.6.0": "true",
			},
			"annotations": document{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		"spec": document{"podCIDR": fmt.Sprintf("10.%d.%d.0/24", 128+i/256, i%256)},
	}
}

func condition(kind, status, reason, message string, at time.Time) document {
	return document{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastHeartbeatTime": at.UTC().Format(time.RFC3339), "lastTransitionTime": "2026-01-01T00:00:00Z",
	}
}

func conditions(at time.Time) []any {
	return []any{
		condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", at),
		condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", at),
		condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", at),
		condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", at),
	}
}

// running is the status of a kubelet, with so many images that the node grows by about so many bytes.
func running(i, bytes int) document {
	resources := document{
		"cpu": "128", "memory": "1056541160Ki", "pods": "500", "ephemeral-storage": "936104940Ki", "hugepages-1Gi": "0",
		"hugepages-2Mi": "0", "devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k",
		"devices.kubevirt.io/vhost-net": "1k", "devices.kubevirt.io/sev": "0",
	}
	status := document{
		"capacity": resources, "allocatable": resources, "conditions": conditions(time.Now()),
		"addresses": []any{
			document{"type": "InternalIP", "address": fmt.Sprintf("10.0.%d.%d", i/256, i%256)},
			document{"type": "Hostname", "address": name(i)},
		},
		"daemonEndpoints": document{"kubeletEndpoint": document{"Port": 10250}},
		"nodeInfo": document{
			"machineID": fmt.Sprintf("%032x", i), "systemUUID": fmt.Sprintf("%032x", i), "bootID": fmt.Sprintf("%032x", i),
			"kernelVersion": "5.14.0-570.12.1.el9_6.x86_64", "osImage": "Linux 9", "architecture": "amd64",
			"containerRuntimeVersion": "cri-o://1.36.0", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "",
			"operatingSystem": "linux",
		},
	}
	status["images"] = images(bytes - size(status) - managed)
	return status
}

func images(bytes int) []any {
	list := []any{}
	for at := 0; bytes > 0; at++ {
		image := fmt.Sprintf("registry.example.com/platform/component-%03d", at)
		list = append(list, document{
			"names":     []any{fmt.Sprintf("%s@sha256:%064x", image, at), image + ":v4.20.1"},
			"sizeBytes": 100_000_000 + at,
		})
		bytes -= size(list[at]) + len(",")
	}
	return list
}

func size(value any) int {
	text, _ := json.Marshal(value) // of texts and numbers: nothing that could fail
	return len(text)
}

// readLabels reads what `scoutctl labels` prints.
func readLabels(file string) (document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	labels := document{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		key, value, is := strings.Cut(strings.TrimSpace(line), "=")
		if !is {
			return nil, fmt.Errorf("%s: expected key=value, found %q", file, line)
		}
		labels[key] = value
	}
	return labels, nil
}

// each does it for 0 up to count, several at once; a fault ends the worker that met it.
func each(count int, do func(int) error) error {
	var next atomic.Int64
	var working sync.WaitGroup
	faults := make([]error, writers)
	for worker := range faults {
		working.Go(func() {
			for faults[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				faults[worker] = do(i)
			}
		})
	}
	working.Wait()
	return errors.Join(faults...)
}
