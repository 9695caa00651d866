// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// One control plane and one KubeVirt for all tests of the program; each has its own namespace and nodes.
var shared *testCluster

const patience = 15 * time.Second

type testCluster struct {
	*standin
	kubeconfig string
	disks      string
	told       *record
	number     atomic.Int64
}

// record keeps what was told.
type record struct {
	lock  sync.Mutex
	lines []happening
}

func (r *record) Write(line []byte) (int, error) {
	one := happening{}
	if err := json.Unmarshal(line, &one); err != nil {
		return 0, err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.lines = append(r.lines, one)
	return len(line), nil
}

func (r *record) of(vmi string, events ...string) []happening {
	r.lock.Lock()
	defer r.lock.Unlock()
	var found []happening
	for _, one := range r.lines {
		for _, event := range events {
			if one.VMI == vmi && one.Event == event {
				found = append(found, one)
			}
		}
	}
	return found
}

func TestMain(m *testing.M) {
	bed, data := os.Getenv("SCOUT_BED"), os.Getenv("SCOUT_TEST_DATA")
	const built = "../../../build/bed/bed" // by tools/lib/bed.sh
	if _, err := os.Stat(built); bed == "" && err == nil {
		bed, _ = filepath.Abs(built)
	}
	if bed == "" || data == "" {
		fmt.Println("no bed: name the program with SCOUT_BED, and the folder with KubeVirt's definitions with SCOUT_TEST_DATA")
		os.Exit(0)
	}
	code, err := withCluster(bed, data, m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withCluster(bed, data string, run func() int) (int, error) {
	folder, err := os.MkdirTemp("", "virt-scout-standin.")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	state := filepath.Join(folder, "bed")
	shared = &testCluster{disks: filepath.Join(folder, "disks"), told: &record{}}
	for number := range 60 {
		for _, part := range []string{"pods", "plugins"} {
			if err := os.MkdirAll(filepath.Join(shared.disks, nodeName(number), part), 0o755); err != nil {
				return 1, err
			}
		}
	}
	if err := os.Mkdir(state, 0o755); err != nil {
		return 1, err
	}
	command := exec.Command(bed, "up", "--folder", state, "--controllers=false", "--scheduler=false")
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		return 1, err
	}
	defer func() {
		_ = input.Close()
		_ = command.Wait()
	}()
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return 1, fmt.Errorf("the bed did not start: %w", err)
	}
	ready, err := parsed(line)
	if err != nil {
		return 1, err
	}
	shared.kubeconfig = textOf(ready, "kubeconfig")
	if err := applyDefinitions(filepath.Join(data, "kubevirt/crds")); err != nil {
		return 1, err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	shared.standin, err = startStandin(ctx, settings{kubeconfig: shared.kubeconfig, disks: shared.disks,
		backOff: time.Second, ready: 50 * time.Millisecond, stopsIn: 200 * time.Millisecond,
		times: moveTimes{prepare: 50 * time.Millisecond, run: 500 * time.Millisecond}}, shared.told)
	if err != nil {
		return 1, err
	}
	return run(), nil
}

func nodeName(number int) string { return fmt.Sprintf("n%d", number) }

func applyDefinitions(folder string) error {
	c, err := openCluster(shared.kubeconfig)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, plural := range []string{"kubevirts.kubevirt.io", "virtualmachineinstances.kubevirt.io",
		"virtualmachineinstancemigrations.kubevirt.io", "plugins.plugin.kubevirt.io"} {
		text, err := os.ReadFile(filepath.Join(folder, plural+".json"))
		if err != nil {
			return err
		}
		one := object{}
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		if _, err := c.admin.Resource(kind).Create(context.Background(), &unstructured.Unstructured{Object: one},
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, each := range []schema.GroupVersionResource{kubevirts, vmis, moves, plugins} {
		for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if _, err = c.admin.Resource(each).List(context.Background(), metav1.ListOptions{}); err == nil {
				break
			}
			if time.Now().After(until) {
				return err
			}
		}
	}
	return nil
}

// scene is one test's namespace with two nodes of its own.
type scene struct {
	*testing.T
	*testCluster
	ctx            context.Context
	space          string
	source, target string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	number := int(shared.number.Add(1))
	s := &scene{T: t, testCluster: shared, ctx: t.Context(), space: fmt.Sprintf("ns%d", number),
		source: nodeName(2 * number), target: nodeName(2*number + 1)}
	s.create(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", object{"apiVersion": "v1",
		"kind": "Namespace", "metadata": object{"name": s.space}})
	s.create(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, s.space, object{"apiVersion": "v1",
		"kind": "ServiceAccount", "metadata": object{"name": "default"}})
	for _, name := range []string{s.source, s.target} {
		s.create(nodes, "", object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name,
			"labels": object{"kubevirt.io/schedulable": "true", "pair": s.space}}})
	}
	s.until("the cache has its nodes", func() bool { return s.cluster.cached(nodes, s.target) != nil })
	s.Cleanup(s.clear)
	return s
}

// clear leaves no migration behind that takes up a slot.
func (s *scene) clear() {
	for _, one := range s.cluster.all(vmis) {
		if space, _ := split(keyOf(one)); space == s.space {
			_ = s.cluster.remove(context.Background(), s.cluster.admin, vmis, one, -1)
		}
	}
}

func (s *scene) create(kind schema.GroupVersionResource, space string, one object) object {
	s.Helper()
	made, err := s.cluster.admin.Resource(kind).Namespace(space).Create(s.ctx, &unstructured.Unstructured{Object: one},
		metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made.Object
}

func (s *scene) until(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.told.lock.Lock()
			defer s.told.lock.Unlock()
			var all bytes.Buffer
			for _, line := range s.told.lines {
				if strings.HasPrefix(line.VMI, s.space+"/") {
					fmt.Fprintf(&all, "%+v\n", line)
				}
			}
			s.Fatalf("it did not come about: %s\n%s", what, all.String())
		}
	}
}

// vmi makes one that runs, and waits for its launcher.
func (s *scene) vmi(name, strategy, migratable string, annotations object) {
	s.Helper()
	conditions := []any{object{"type": "LiveMigratable", "status": migratable}}
	spec := object{"domain": object{"devices": object{}, "memory": object{"guest": "64Mi"}},
		"nodeSelector": object{"pair": s.space}, "terminationGracePeriodSeconds": int64(2)}
	if strategy != "" {
		spec["evictionStrategy"] = strategy
	}
	s.create(vmis, s.space, object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": object{"name": name, "namespace": s.space, "annotations": annotations}, "spec": spec,
		"status": object{"phase": "Running", "nodeName": s.source, "conditions": conditions}})
	s.until("the launcher runs", func() bool {
		return len(s.told.of(s.space+"/"+name, "launcher-started")) == 1 && s.pod(name) != nil &&
			textOf(s.read(name), "status", "selinuxContext") != "" && len(objectOf(s.read(name), "status", "activePods")) == 1
	})
}

func (s *scene) read(name string) object {
	s.Helper()
	one, err := s.cluster.live(s.ctx, vmis, s.space+"/"+name)
	if err != nil {
		s.Fatal(err)
	}
	return one
}

// pod is the launcher on the VMI's first node, or nil.
func (s *scene) pod(name string) object {
	s.Helper()
	all, err := s.cluster.podsOf(s.ctx, s.read(name))
	if err != nil {
		s.Fatal(err)
	}
	for _, one := range all {
		if textOf(one, "spec", "nodeName") == s.source {
			return one
		}
	}
	return nil
}

// evict gives the code and text of an eviction of the pod.
func (s *scene) evict(pod string, more object) (int32, string) {
	s.Helper()
	body := object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pod, "namespace": s.space}}
	for key, value := range more {
		body[key] = value
	}
	_, err := s.cluster.admin.Resource(pods).Namespace(s.space).Create(s.ctx, &unstructured.Unstructured{Object: body},
		metav1.CreateOptions{}, "eviction")
	return codeOf(s, err)
}

func codeOf(s *scene, err error) (int32, string) {
	s.Helper()
	if err == nil {
		return 201, ""
	}
	said, is := err.(apierrors.APIStatus)
	if !is {
		s.Fatal(err)
	}
	return said.Status().Code, said.Status().Message
}

func (s *scene) merge(kind schema.GroupVersionResource, name, patch string) error {
	s.Helper()
	_, err := s.cluster.admin.Resource(kind).Namespace(s.space).Patch(s.ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	return err
}

func (s *scene) moves(name string) []object {
	s.Helper()
	var all []object
	for _, finished := range []bool{false, true} {
		found, err := s.cluster.movesOf(s.ctx, object{"metadata": object{"namespace": s.space, "name": name}}, finished)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func (s *scene) move(name string) object {
	return object{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": object{"generateName": "m-", "namespace": s.space}, "spec": object{"vmiName": name}}
}

// tell is a command as on standard input.
func (s *scene) tell(command, name string) {
	s.Helper()
	if err := s.obey([]string{command, s.space + "/" + name}); err != nil {
		s.Fatal(err)
	}
}

// plugin makes one that asks a server of this test on the source node, and takes both away in the end.
func (s *scene) plugin(point, condition string, answer func() error) {
	s.Helper()
	name := s.space + "-" + strings.ToLower(point)
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			if _, kind, _ := protowire.ConsumeTag(request); kind != protowire.BytesType {
				return status.Error(codes.InvalidArgument, "expected a hook point")
			}
			if err := answer(); err != nil {
				return err
			}
			response := []byte{}
			return stream.SendMsg(&response)
		}))
	listener, err := net.Listen("unix", filepath.Join(s.disks, s.source, "plugins", name+".sock"))
	if err != nil {
		s.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	made := s.create(plugins, "", object{"apiVersion": "plugin.kubevirt.io/v1alpha1", "kind": "Plugin",
		"metadata": object{"name": name}, "spec": object{"nodeHooks": []any{object{
			"socket": hookFolder + name + ".sock", "permittedHooks": []any{point}, "failureStrategy": "Fail",
			"timeout": "5s", "condition": condition}}}})
	s.until("the cache has the plugin", func() bool { return s.cluster.cached(plugins, name) != nil })
	s.Cleanup(func() {
		_ = s.cluster.remove(context.Background(), s.cluster.admin, plugins, made, -1)
		s.until("the cache has lost the plugin", func() bool { return s.cluster.cached(plugins, name) == nil })
		server.Stop()
	})
}

// here is a condition for VMIs of this test's nodes.
func (s *scene) here() string {
	return `vmi.status.phase == "Running" && !has(vmi.metadata.deletionTimestamp) && vmi.status.nodeName == "` + s.source + `"`
}
