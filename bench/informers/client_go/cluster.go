// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// watchCluster follows nodes, launcher pods and VMIs, stripped of what the aggregator does not keep.
func watchCluster(config *rest.Config) error {
	nodes, err := newInformer(config, "stripped")
	if err != nil {
		return err
	}
	pods, err := launchers(config)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
	vmis, err := transformed(dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(kind).Informer(), stripVMI)
	if err != nil {
		return err
	}
	never := make(chan struct{})
	count := 0
	for _, informer := range []cache.SharedIndexInformer{nodes, pods, vmis} {
		go informer.Run(never)
	}
	for _, informer := range []cache.SharedIndexInformer{nodes, pods, vmis} {
		if cache.WaitForCacheSync(never, informer.HasSynced) {
			count += len(informer.GetStore().ListKeys())
		}
	}
	fmt.Println("synced", count)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func launchers(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := protobufClient(config)
	if err != nil {
		return nil, err
	}
	choice := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.LabelSelector = "kubevirt.io=virt-launcher"
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, choice)
	return transformed(factory.Core().V1().Pods().Informer(), stripPod)
}

// stripPod keeps what our kube::LauncherPod keeps.
func stripPod(object any) (any, error) {
	pod, is := object.(*corev1.Pod)
	if !is {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp,
	}}
	for _, key := range []string{"kubevirt.io/created-by", "kubevirt.io/migrationJobUID"} {
		if value, has := pod.Labels[key]; has {
			metav1.SetMetaDataLabel(&kept.ObjectMeta, key, value)
		}
	}
	metav1.SetMetaDataAnnotation(&kept.ObjectMeta, "kubevirt.io/domain", pod.Annotations["kubevirt.io/domain"])
	kept.Spec.NodeName, kept.Spec.NodeSelector = pod.Spec.NodeName, pod.Spec.NodeSelector
	kept.Status.Phase = pod.Status.Phase
	return kept, nil
}

// stripVMI keeps what our kube::Vmi keeps.
func stripVMI(object any) (any, error) {
	vmi, is := object.(*unstructured.Unstructured)
	if !is {
		return object, nil
	}
	kept := &unstructured.Unstructured{Object: document{}}
	for _, path := range [][]string{
		{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"},
		{"metadata", "resourceVersion"}, {"metadata", "deletionTimestamp"}, {"spec", "architecture"}, {"spec", "domain", "cpu"},
		{"spec", "domain", "machine"}, {"spec", "evictionStrategy"}, {"spec", "nodeSelector"},
		{"spec", "terminationGracePeriodSeconds"}, {"status", "phase"}, {"status", "nodeName"}, {"status", "machine"},
		{"status", "conditions"}, {"status", "activePods"}, {"status", "migrationState"}, {"status", "topologyHints"},
		{"status", "evacuationNodeName"},
	} {
		value, has, err := unstructured.NestedFieldCopy(vmi.Object, path...)
		if err != nil {
			return nil, err
		}
		if has {
			if err := unstructured.SetNestedField(kept.Object, value, path...); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}
