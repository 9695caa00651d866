// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const spaces = 50

// guests are VMIs with their launcher pods, after those of a running cluster in a dump, which has
// them small: more disks, interfaces and what a guest tells of itself come on top.
type guests struct {
	client rest.Interface
	vmi    document
	pod    document
}

func newGuests(config *rest.Config, dump string) (*guests, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	made := &guests{client: client.CoreV1().RESTClient()}
	if made.vmi, err = first(filepath.Join(dump, "virtualmachineinstances.json"), "web-1"); err != nil {
		return nil, err
	}
	if made.pod, err = first(filepath.Join(dump, "pods.json"), "virt-launcher-web-1-"); err != nil {
		return nil, err
	}
	grow(made.vmi)
	return made, nil
}

// first is the first object of a list whose name begins so, without what a server gives it.
func first(file, prefix string) (document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []document }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, item := range list.Items {
		meta := below(item, "metadata")
		if name, _ := meta["name"].(string); strings.HasPrefix(name, prefix) {
			for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
				delete(meta, key)
			}
			return item, nil
		}
	}
	return nil, fmt.Errorf("%s: expected an object named %s…, found none", file, prefix)
}

func below(object document, steps ...string) document {
	for _, step := range steps {
		object, _ = object[step].(document)
	}
	return object
}

// grow makes a small VMI one of three more disks and two more networks, with cloud-init and an agent.
func grow(vmi document) {
	spec, status, devices := below(vmi, "spec"), below(vmi, "status"), below(vmi, "spec", "domain", "devices")
	add := func(to document, list string, item document) {
		items, _ := to[list].([]any)
		to[list] = append(items, item)
	}
	for i := range 3 {
		name, claim := fmt.Sprintf("data-%d", i), fmt.Sprintf("data-volume-of-a-database-%d", i)
		add(devices, "disks", document{"name": name, "disk": document{"bus": "virtio"}, "serial": claim, "bootOrder": i + 2})
		add(spec, "volumes", document{"name": name, "persistentVolumeClaim": document{"claimName": claim}})
		add(status, "volumeStatus", document{
			"name": name, "target": fmt.Sprintf("vd%c", 'b'+i), "persistentVolumeClaimInfo": document{
				"accessModes": []any{"ReadWriteMany"}, "capacity": document{"storage": "100Gi"}, "claimName": claim,
				"filesystemOverhead": "0.055", "requests": document{"storage": "107374182400"}, "volumeMode": "Block",
			},
		})
	}
	for i := range 2 {
		name := fmt.Sprintf("vlan-%d", i)
		mac := fmt.Sprintf("02:00:00:00:00:%02x", i)
		add(devices, "interfaces", document{"name": name, "bridge": document{}, "macAddress": mac, "model": "virtio"})
		add(spec, "networks", document{"name": name, "multus": document{"networkName": "networks/" + name}})
		add(status, "interfaces", document{
			"name": name, "interfaceName": fmt.Sprintf("eth%d", i+1), "mac": mac, "queueCount": 4, "podInterfaceName": "pod" + name,
			"ipAddress": fmt.Sprintf("192.168.%d.17", i), "ipAddresses": []any{fmt.Sprintf("192.168.%d.17", i), "fe80::200:ff:fe00:1"},
			"infoSource": "domain, guest-agent, multus-status", "linkState": "up",
		})
	}
	add(devices, "disks", document{"name": "cloud-init", "disk": document{"bus": "virtio"}})
	add(spec, "volumes", document{"name": "cloud-init", "cloudInitNoCloud": document{
		"userData": "#cloud-config\n" + strings.Repeat("# what a tenant wants to run at the first boot\n", 24),
	}})
	status["guestOSInfo"] = document{
		"id": "rhel", "kernelRelease": "5.14.0-570.12.1.el9_6.x86_64", "kernelVersion": "#1 SMP PREEMPT_DYNAMIC",
		"machine": "x86_64", "name": "Red Hat Enterprise Linux", "prettyName": "Red Hat Enterprise Linux 9.6 (Plow)",
		"version": "9.6 (Plow)", "versionId": "9.6",
	}
}

// fillGuests makes so many VMIs; the first of them with launcher pods.
func fillGuests(config *rest.Config, dump, etcd string, nodes, vmis, pods int) error {
	made, err := newGuests(config, dump)
	if err != nil {
		return err
	}
	for i := range spaces {
		space := document{"apiVersion": "v1", "kind": "Namespace", "metadata": document{"name": spaceOf(i)}}
		if _, err := made.post(space, "/api/v1/namespaces"); err != nil {
			return err
		}
	}
	account := document{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": document{"name": "default"}}
	if _, err := made.post(account, "/api/v1/namespaces/"+spaceOf(0)+"/serviceaccounts"); err != nil {
		return err
	}
	vmi, err := made.createVMI()
	if err != nil {
		return err
	}
	pod, err := made.createPod(vmi.uid)
	if err != nil {
		return err
	}
	fmt.Printf("VMIs of %d bytes, pods of %d\n", vmi.bytes, pod.bytes)
	return copyAll(etcd, nodes, vmis, pods, vmi.uid, pod.uid)
}

func spaceOf(i int) string { return fmt.Sprintf("tenant-%02d", i%spaces) }
func vmOf(i int) string    { return fmt.Sprintf("database-%06d", i) }

const (
	firmware = 0xf
	vmID     = 0xe
	podID    = 0xa
)

func launcherOf(i int) string { return "virt-launcher-" + vmOf(i) + "-ksrp8" }

type served struct {
	uid   string
	bytes int
}

func (g *guests) createVMI() (served, error) {
	vmi := copied(g.vmi)
	meta, status := below(vmi, "metadata"), below(vmi, "status")
	meta["name"], meta["namespace"] = vmOf(0), spaceOf(0)
	below(meta, "labels")["kubevirt.io/nodeName"] = name(0)
	below(vmi, "spec", "domain", "firmware")["uuid"] = uuidOf(firmware, 0)
	status["nodeName"] = name(0)
	status["activePods"] = document{uuidOf(podID, 0): name(0)}
	return g.post(vmi, "/apis/kubevirt.io/v1/namespaces/"+spaceOf(0)+"/virtualmachineinstances")
}

func (g *guests) createPod(uid string) (served, error) {
	pod := copied(g.pod)
	meta := below(pod, "metadata")
	meta["name"], meta["namespace"] = launcherOf(0), spaceOf(0)
	labels := below(meta, "labels")
	labels["kubevirt.io/created-by"], labels["vm.kubevirt.io/name"], labels["vmi.kubevirt.io/id"] = uid, vmOf(0), vmOf(0)
	below(meta, "annotations")["kubevirt.io/domain"] = vmOf(0)
	owner := meta["ownerReferences"].([]any)[0].(document)
	owner["name"], owner["uid"] = vmOf(0), uid
	below(pod, "spec")["nodeName"] = name(0)
	path := "/api/v1/namespaces/" + spaceOf(0) + "/pods"
	if _, err := g.post(pod, path); err != nil {
		return served{}, err
	}
	body, err := json.Marshal(document{"status": g.pod["status"]})
	if err != nil {
		return served{}, err
	}
	return read(g.client.Patch(types.MergePatchType).AbsPath(path, launcherOf(0), "status").
		Param("fieldManager", "kubelet").Body(body).Do(context.Background()))
}

func (g *guests) post(object document, path string) (served, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return served{}, err
	}
	options := &metav1.CreateOptions{FieldManager: "virt-controller"}
	return read(g.client.Post().AbsPath(path).VersionedParams(options, scheme.ParameterCodec).
		SetHeader("Content-Type", "application/json").Body(body).Do(context.Background()))
}

func read(answer rest.Result) (served, error) {
	text, err := answer.Raw()
	if err != nil {
		return served{}, err
	}
	var object metav1.PartialObjectMetadata
	err = json.Unmarshal(text, &object)
	return served{string(object.UID), len(text)}, err
}

func uuidOf(kind, i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, i) }

func copied(object document) document {
	text, _ := json.Marshal(object) // came from JSON
	copy := document{}
	_ = json.Unmarshal(text, &copy)
	return copy
}
