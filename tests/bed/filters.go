// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	schedulerruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// state is what the scheduler would have found in a cluster, with what the API server fills in.
type state struct {
	Nodes                  []*v1.Node                      `json:"nodes"`
	Pods                   []*v1.Pod                       `json:"pods"`
	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments"`
	Pod                    *v1.Pod                         `json:"pod"` // the one to be placed
}

// rejection is what one plugin says of one node.
type rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"` // Unschedulable, UnschedulableAndUnresolvable or Error
	Reasons []string `json:"reasons"`
}

// verdict is the scheduler's: of what rejects, it stops at the first. Failed are all that do.
type verdict struct {
	Fits    bool        `json:"fits"`
	Plugin  string      `json:"plugin,omitempty"`
	Reasons []string    `json:"reasons,omitempty"`
	Failed  []rejection `json:"failed,omitempty"`
}

// filters runs the PreFilter and Filter plugins of the scheduler's default profile.
type filters struct {
	informers informers.SharedInformerFactory // never started: filled by hand
	snapshot  *currentSnapshot
	framework framework.Framework
	plugins   map[string]fwk.Plugin // those within framework, by name
}

type currentSnapshot struct{ fwk.SharedLister }

func newFilters() (*filters, error) {
	metrics.Register()
	f := &filters{
		informers: informers.NewSharedInformerFactory(nil, 0),
		snapshot:  &currentSnapshot{},
		plugins:   map[string]fwk.Plugin{},
	}
	configuration, err := latest.Default()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	claims, err := f.resourceClaims(ctx)
	if err != nil {
		return nil, err
	}
	f.framework, err = schedulerruntime.NewFramework(ctx, f.registry(), &configuration.Profiles[0],
		schedulerruntime.WithInformerFactory(f.informers),
		schedulerruntime.WithSnapshotSharedLister(f.snapshot),
		schedulerruntime.WithSharedDRAManager(claims),
		schedulerruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(f.informers.Storage().V1().CSINodes().Lister())),
		schedulerruntime.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// registry remembers the plugins that are made of it.
func (f *filters) registry() schedulerruntime.Registry {
	registry := plugins.NewInTreeRegistry()
	for name, make := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := make(ctx, args, handle)
			f.plugins[name] = plugin
			return plugin, err
		}
	}
	return registry
}

// resourceClaims knows of none, nor of any device.
func (f *filters) resourceClaims(ctx context.Context) (fwk.SharedDRAManager, error) {
	resources := f.informers.Resource()
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		EnableDeviceTaintRules:   false,
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.V1().ResourceSlices(),
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.V1().ResourceClaims().Informer(),
		"ResourceClaim", "", nil)
	return dynamicresources.NewDRAManager(ctx, claims, slices, f.informers), nil
}

func (f *filters) answer(line []byte) (any, error) {
	var asked state
	if err := decode(line, &asked); err != nil {
		return nil, err
	}
	if asked.Pod == nil {
		return nil, errors.New("expected pod, the one to be placed")
	}
	if err := f.load(&asked); err != nil {
		return nil, err
	}
	nodes, err := f.judge(context.Background(), asked.Pod)
	if err != nil {
		return nil, err
	}
	return map[string]any{"nodes": nodes}, nil
}

// load shows the plugins this state instead of the one before.
func (f *filters) load(s *state) error {
	core, storage := f.informers.Core().V1(), f.informers.Storage().V1()
	if err := errors.Join(
		fill("nodes", core.Nodes().Informer(), s.Nodes),
		fill("pods", core.Pods().Informer(), s.Pods),
		fill("namespaces", core.Namespaces().Informer(), s.Namespaces),
		fill("persistentVolumeClaims", core.PersistentVolumeClaims().Informer(), s.PersistentVolumeClaims),
		fill("persistentVolumes", core.PersistentVolumes().Informer(), s.PersistentVolumes),
		fill("storageClasses", storage.StorageClasses().Informer(), s.StorageClasses),
		fill("csiNodes", storage.CSINodes().Informer(), s.CSINodes),
		fill("csiDrivers", storage.CSIDrivers().Informer(), s.CSIDrivers),
		fill("csiStorageCapacities", storage.CSIStorageCapacities().Informer(), s.CSIStorageCapacities),
		fill("volumeAttachments", storage.VolumeAttachments().Informer(), s.VolumeAttachments),
	); err != nil {
		return err
	}
	f.snapshot.SharedLister = schedulercache.NewSnapshot(placed(s), s.Nodes)
	return nil
}

func fill[T any, P interface {
	*T
	metav1.Object
}](list string, informer cache.SharedIndexInformer, objects []P) error {
	names := sets.New[string]()
	all := make([]any, 0, len(objects))
	for i, object := range objects {
		if object == nil || object.GetName() == "" {
			return fmt.Errorf("expected a name of %s[%d]", list, i)
		}
		if name := object.GetNamespace() + "/" + object.GetName(); names.Has(name) {
			return fmt.Errorf("expected %s once in %s", name, list)
		} else {
			names.Insert(name)
		}
		all = append(all, object)
	}
	return informer.GetIndexer().Replace(all, "")
}

// placed are the pods that the scheduler counts: those on a node, and not ended.
func placed(s *state) []*v1.Pod {
	nodes := sets.New[string]()
	for _, node := range s.Nodes {
		nodes.Insert(node.Name)
	}
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod *v1.Pod) bool {
		return !nodes.Has(pod.Spec.NodeName) ||
			pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	})
}

// judge has the framework decide, as in a scheduling cycle, and then asks each plugin by itself.
func (f *filters) judge(ctx context.Context, pod *v1.Pod) (map[string]*verdict, error) {
	nodes, err := f.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	cycle := framework.NewCycleState()
	result, all, by := f.framework.RunPreFilterPlugins(ctx, cycle, pod)
	failed := f.ask(ctx, pod, nodes)
	verdicts := map[string]*verdict{}
	for _, node := range nodes {
		name := node.Node().Name
		status := all
		if status.IsSuccess() && !result.AllNodes() && !result.NodeNames.Has(name) {
			status = excluded(sets.List(by)...)
		} else if status.IsSuccess() {
			status = f.framework.RunFilterPlugins(ctx, cycle, pod, node)
		}
		said := &verdict{Fits: status.IsSuccess(), Failed: failed[name]}
		if !said.Fits {
			said.Plugin, said.Reasons = status.Plugin(), status.Reasons()
			if said.Plugin == "" {
				said.Plugin = strings.Join(sets.List(by), ",")
			}
		}
		if said.Fits != (len(said.Failed) == 0) {
			return nil, fmt.Errorf("of node %s the framework says %v, its plugins %v", name, status, said.Failed)
		}
		verdicts[name] = said
	}
	return verdicts, nil
}

// excluded is the scheduler's status of nodes that PreFilter has left out.
func excluded(by ...string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", by))
}

// ask names all that reject a node, in the framework's order, where the framework stops at the first.
func (f *filters) ask(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo) map[string][]rejection {
	failed := map[string][]rejection{}
	reject := func(node fwk.NodeInfo, plugin string, status *fwk.Status) {
		name := node.Node().Name
		one := rejection{Plugin: plugin, Code: status.Code().String(), Reasons: status.Reasons()}
		failed[name] = append(failed[name], one)
	}
	cycle := framework.NewCycleState()
	enabled := f.framework.ListPlugins()
	done := sets.New[string]() // plugins with nothing to add for any node
	for _, each := range enabled.PreFilter.Enabled {
		result, status := f.plugins[each.Name].(fwk.PreFilterPlugin).PreFilter(ctx, cycle, pod, nodes)
		if !status.IsSuccess() {
			done.Insert(each.Name)
		}
		for _, node := range nodes {
			if !status.IsSuccess() && !status.IsSkip() {
				reject(node, each.Name, status)
			} else if !result.AllNodes() && !result.NodeNames.Has(node.Node().Name) {
				reject(node, each.Name, excluded(each.Name))
			}
		}
	}
	for _, each := range enabled.Filter.Enabled {
		if done.Has(each.Name) {
			continue
		}
		for _, node := range nodes {
			if slices.ContainsFunc(failed[node.Node().Name], func(r rejection) bool { return r.Plugin == each.Name }) {
				continue
			}
			if status := f.plugins[each.Name].(fwk.FilterPlugin).Filter(ctx, cycle, pod, node); !status.IsSuccess() {
				reject(node, each.Name, status)
			}
		}
	}
	return failed
}
