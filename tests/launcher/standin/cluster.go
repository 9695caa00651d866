// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

const kubevirtSpace = "kubevirt"

// KubeVirt's accounts, which may write what nobody else may.
const (
	apiAccount        = "system:serviceaccount:" + kubevirtSpace + ":kubevirt-apiserver"
	controllerAccount = "system:serviceaccount:" + kubevirtSpace + ":kubevirt-controller"
	handlerAccount    = "system:serviceaccount:" + kubevirtSpace + ":kubevirt-handler"
	syncAccount       = "system:serviceaccount:" + kubevirtSpace + ":kubevirt-synchronization-controller"
)

var (
	vmis       = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}
	moves      = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstancemigrations"}
	kubevirts  = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "kubevirts"}
	policies   = schema.GroupVersionResource{Group: "migrations.kubevirt.io", Version: "v1alpha1", Resource: "migrationpolicies"}
	plugins    = schema.GroupVersionResource{Group: "plugin.kubevirt.io", Version: "v1alpha1", Resource: "plugins"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// cluster is the API server, asked in the name of each of KubeVirt's accounts, and caches of it.
type cluster struct {
	config     *rest.Config
	admin      dynamic.Interface
	api        dynamic.Interface
	controller dynamic.Interface
	handler    dynamic.Interface
	informers  map[schema.GroupVersionResource]cache.SharedIndexInformer
}

func openCluster(kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit
	config.WarningHandler = rest.NoWarnings{}
	c := &cluster{config: config, informers: map[schema.GroupVersionResource]cache.SharedIndexInformer{}}
	for account, client := range map[string]*dynamic.Interface{"": &c.admin, apiAccount: &c.api,
		controllerAccount: &c.controller, handlerAccount: &c.handler} {
		own := rest.CopyConfig(config)
		if account != "" {
			// Its name is what admission goes by; rights are not what is played here.
			own.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:masters"}}
		}
		if *client, err = dynamic.NewForConfig(own); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// follow starts the caches and returns once they hold what there is.
func (c *cluster) follow(ctx context.Context) error {
	all := dynamicinformer.NewDynamicSharedInformerFactory(c.admin, 0)
	launchers := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.admin, 0, "",
		func(options *metav1.ListOptions) { options.LabelSelector = "kubevirt.io=virt-launcher" })
	c.informers[pods] = launchers.ForResource(pods).Informer()
	for _, kind := range []schema.GroupVersionResource{vmis, moves, nodes, kubevirts} {
		c.informers[kind] = all.ForResource(kind).Informer()
	}
	// A KubeVirt before 1.9 has no plugins.
	_, err := c.admin.Resource(plugins).List(ctx, metav1.ListOptions{Limit: 1})
	if !apierrors.IsNotFound(err) {
		c.informers[plugins] = all.ForResource(plugins).Informer()
	}
	for _, informer := range c.informers {
		go informer.Run(ctx.Done())
	}
	for kind, informer := range c.informers {
		limited, cancel := context.WithTimeout(ctx, 30*time.Second)
		held := cache.WaitForCacheSync(limited.Done(), informer.HasSynced)
		cancel()
		if !held {
			return fmt.Errorf("expected the API server to list %s within 30 s", kind.Resource)
		}
	}
	return nil
}

// onChange calls for every object that is new, other or gone.
func (c *cluster) onChange(kind schema.GroupVersionResource, call func(object)) {
	informer, there := c.informers[kind]
	if !there {
		return
	}
	pass := func(value any) {
		if gone, is := value.(cache.DeletedFinalStateUnknown); is {
			value = gone.Obj
		}
		if one, is := value.(*unstructured.Unstructured); is {
			call(one.Object)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: pass, DeleteFunc: pass,
		UpdateFunc: func(_, after any) { pass(after) },
	})
}

// all that a cache holds; nobody may change them.
func (c *cluster) all(kind schema.GroupVersionResource) []object {
	informer, there := c.informers[kind]
	if !there {
		return nil
	}
	var found []object
	for _, value := range informer.GetStore().List() {
		if one, is := value.(*unstructured.Unstructured); is {
			found = append(found, one.Object)
		}
	}
	return found
}

// cached is the cache's copy, which may lag; nil if there is none. Nobody may change it.
func (c *cluster) cached(kind schema.GroupVersionResource, key string) object {
	informer, there := c.informers[kind]
	if !there {
		return nil
	}
	value, _, _ := informer.GetStore().GetByKey(key)
	if one, is := value.(*unstructured.Unstructured); is {
		return one.Object
	}
	return nil
}

// live reads an object from the server; nil if there is none.
func (c *cluster) live(ctx context.Context, kind schema.GroupVersionResource, key string) (object, error) {
	space, name := split(key)
	one, err := c.admin.Resource(kind).Namespace(space).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return one.Object, nil
}

// change reads an object, changes it and writes it, again if somebody else wrote meanwhile. What is
// not there any more, or not changed, is not written.
func (c *cluster) change(ctx context.Context, as dynamic.Interface, kind schema.GroupVersionResource,
	key, subresource string, how func(object) bool) error {
	space, name := split(key)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		one, err := c.live(ctx, kind, key)
		if err != nil || one == nil || !how(one) {
			return err
		}
		var sub []string
		if subresource != "" {
			sub = []string{subresource}
		}
		_, err = as.Resource(kind).Namespace(space).Update(ctx,
			&unstructured.Unstructured{Object: one}, metav1.UpdateOptions{}, sub...)
		if apierrors.IsNotFound(err) {
			err = nil
		}
		_ = name
		return err
	})
}

// remove deletes an object of that UID, with this grace if it is not negative.
func (c *cluster) remove(ctx context.Context, as dynamic.Interface, kind schema.GroupVersionResource,
	one object, grace int64) error {
	uid := types.UID(textOf(one, "metadata", "uid"))
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if grace >= 0 {
		options.GracePeriodSeconds = &grace
	}
	space, name := split(keyOf(one))
	err := as.Resource(kind).Namespace(space).Delete(ctx, name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// tellEvent makes an Event of an object, of the component of KubeVirt that asks.
func (c *cluster) tellEvent(ctx context.Context, one object, kind, component, sort, reason, message string) {
	space, name := split(keyOf(one))
	event := object{"apiVersion": "v1", "kind": "Event",
		"metadata": object{"generateName": name + ".", "namespace": space},
		"involvedObject": object{"apiVersion": "kubevirt.io/v1", "kind": kind, "namespace": space,
			"name": name, "uid": textOf(one, "metadata", "uid")},
		"type": sort, "reason": reason, "message": message, "count": int64(1),
		"firstTimestamp": now(), "lastTimestamp": now(), "source": object{"component": component}}
	_, _ = c.controller.Resource(events).Namespace(space).Create(ctx,
		&unstructured.Unstructured{Object: event}, metav1.CreateOptions{})
}

// configuration is that of the KubeVirt object, empty if there is none.
func (c *cluster) configuration() object {
	for _, one := range c.all(kubevirts) {
		return objectOf(one, "spec", "configuration")
	}
	return nil
}
