// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

const admissionGroup = "admissionregistration.k8s.io"

// register tells the API server of the webhooks and of the API, and returns once both are in use.
func (v *virtAPI) register(ctx context.Context) error {
	space := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": kubevirtSpace}}
	if err := v.put(ctx, "", "v1", "namespaces", space); err != nil {
		return err
	}
	validating := object{"apiVersion": admissionGroup + "/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": object{"name": "virt-api-validator"}, "webhooks": []any{
			v.webhook("virt-launcher-eviction-interceptor.kubevirt.io", "/pod-eviction-validate", "", "v1", "pods/eviction",
				"*", `object.metadata.name.startsWith("virt-launcher")`),
			v.webhook("hotplug-pod-eviction-interceptor.kubevirt.io", "/pod-eviction-validate", "", "v1", "pods/eviction",
				"*", `object.metadata.name.startsWith("hp-")`),
			v.webhook("virtualmachineinstances-update-validator.kubevirt.io", "/virtualmachineinstances-validate-update",
				"kubevirt.io", "v1", "virtualmachineinstances", "UPDATE", ""),
			v.webhook("migration-create-validator.kubevirt.io", "/migration-validate", "kubevirt.io", "v1",
				"virtualmachineinstancemigrations", "CREATE", ""),
			v.webhook("migration-update-validator.kubevirt.io", "/migration-validate", "kubevirt.io", "v1",
				"virtualmachineinstancemigrations", "UPDATE", "")}}
	mutating := object{"apiVersion": admissionGroup + "/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": object{"name": "virt-api-mutator"}, "webhooks": []any{
			v.webhook("virtualmachineinstances-mutator.kubevirt.io", "/virtualmachineinstances-mutate", "kubevirt.io", "v1",
				"virtualmachineinstances", "CREATE UPDATE", ""),
			v.webhook("migrations-mutator.kubevirt.io", "/migration-mutate-create", "kubevirt.io", "v1",
				"virtualmachineinstancemigrations", "CREATE", "")}}
	if err := v.put(ctx, admissionGroup, "v1", "validatingwebhookconfigurations", validating); err != nil {
		return err
	}
	if err := v.put(ctx, admissionGroup, "v1", "mutatingwebhookconfigurations", mutating); err != nil {
		return err
	}
	return v.serveAPI(ctx)
}

func (v *virtAPI) webhook(name, path, group, version, resource, operations, condition string) object {
	asked := []any{}
	for _, each := range []string{"CREATE", "UPDATE"} {
		if operations == "CREATE UPDATE" || operations == each {
			asked = append(asked, each)
		}
	}
	if len(asked) == 0 {
		asked = append(asked, operations)
	}
	one := object{"name": name, "failurePolicy": "Fail", "timeoutSeconds": int64(10),
		"sideEffects": "NoneOnDryRun", "admissionReviewVersions": []any{"v1"},
		"clientConfig": object{"url": "https://" + v.address + path,
			"caBundle": base64.StdEncoding.EncodeToString(v.bundle)},
		"rules": []any{object{"apiGroups": []any{group}, "apiVersions": []any{version},
			"operations": asked, "resources": []any{resource}}}}
	if condition != "" {
		one["matchConditions"] = []any{object{"name": "its-name", "expression": condition}}
	}
	return one
}

// serveAPI: the bed has no Services but those that are names.
func (v *virtAPI) serveAPI(ctx context.Context) error {
	_, port, _ := net.SplitHostPort(v.address)
	number, _ := strconv.Atoi(port)
	service := object{"apiVersion": "v1", "kind": "Service",
		"metadata": object{"name": "virt-api", "namespace": kubevirtSpace},
		"spec":     object{"type": "ExternalName", "externalName": "localhost"}}
	if err := v.put(ctx, "", "v1", "services", service); err != nil {
		return err
	}
	err := v.put(ctx, "apiregistration.k8s.io", "v1", "apiservices", object{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": object{"name": "v1." + subresourceGroup},
		"spec": object{"group": subresourceGroup, "version": "v1", "groupPriorityMinimum": int64(1000),
			"versionPriority": int64(15), "caBundle": base64.StdEncoding.EncodeToString(v.bundle),
			"service": object{"name": "virt-api", "namespace": kubevirtSpace, "port": int64(number)}}})
	if err != nil {
		return err
	}
	return v.awaitAPI(ctx)
}

func (v *virtAPI) awaitAPI(ctx context.Context) error {
	client, err := v.cluster.web()
	if err != nil {
		return err
	}
	last := ""
	for until := time.Now().Add(60 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		asked, err := http.NewRequestWithContext(ctx, http.MethodGet,
			v.cluster.config.Host+"/apis/"+subresourceGroup+"/v1", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(asked)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		last = answer.Status
	}
	return fmt.Errorf("expected the API server to pass %s on within 60 s, found %s", subresourceGroup, last)
}
