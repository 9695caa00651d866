// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const ours = "virt-scout.io/"

func newInformer(config *rest.Config, mode string) (cache.SharedIndexInformer, error) {
	switch mode {
	case "default":
		return typed(config, nil)
	case "stripped":
		return typed(config, strip)
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		nodes := corev1.SchemeGroupVersion.WithResource("nodes")
		return transformed(metadatainformer.NewSharedInformerFactory(client, 0).ForResource(nodes).Informer(),
			dropManagers)
	}
	return nil, fmt.Errorf("expected default, stripped, metadata, fill or touch, found %q", mode)
}

// protobufClient is not what client-go makes unasked, but what controllers of many objects ask for: it is cheaper.
func protobufClient(config *rest.Config) (*kubernetes.Clientset, error) {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

func typed(config *rest.Config, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	client, err := protobufClient(config)
	if err != nil {
		return nil, err
	}
	return transformed(informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes().Informer(), transform)
}

func transformed(informer cache.SharedIndexInformer, transform cache.TransformFunc) (cache.SharedIndexInformer, error) {
	if transform == nil {
		return informer, nil
	}
	return informer, informer.SetTransform(transform)
}

func dropManagers(object any) (any, error) {
	if meta, is := object.(metav1.Object); is {
		meta.SetManagedFields(nil)
	}
	return object, nil
}

// strip keeps what our kube::Node keeps.
func strip(object any) (any, error) {
	node, is := object.(*corev1.Node)
	if !is {
		return object, nil
	}
	kept := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
		Labels: node.Labels, DeletionTimestamp: node.DeletionTimestamp,
	}}
	kept.Spec.Unschedulable, kept.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	for key, value := range node.Annotations {
		if strings.HasPrefix(key, ours) {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, key, value)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady || strings.HasSuffix(string(condition.Type), "Pressure") {
			condition.Message = ""
			kept.Status.Conditions = append(kept.Status.Conditions, condition)
		}
	}
	return kept, nil
}

// speak runs the informer and says how far it is.
func speak(informer cache.SharedIndexInformer, updates int64) error {
	var seen atomic.Int64
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) {
			if seen.Add(1) == updates {
				fmt.Println("updated")
			}
		},
	})
	if err != nil {
		return err
	}
	never := make(chan struct{})
	go informer.Run(never)
	if cache.WaitForCacheSync(never, handler.HasSynced) {
		fmt.Println("synced", len(informer.GetStore().ListKeys()))
	}
	return nil
}
