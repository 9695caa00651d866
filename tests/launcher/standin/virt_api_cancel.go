// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const subresourceGroup = "subresources.kubevirt.io"

var accessReviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}

// web is a plain client of the API server with the kubeconfig's rights.
func (c *cluster) web() (*http.Client, error) { return rest.HTTPClientFor(c.config) }

func (v *virtAPI) serveSubresources(routes *http.ServeMux) {
	root := "/apis/" + subresourceGroup + "/v1"
	routes.HandleFunc("GET "+root, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{"kind": "APIResourceList", "apiVersion": "v1",
			"groupVersion": subresourceGroup + "/v1", "resources": []any{object{
				"name": "virtualmachineinstances/evacuate/cancel", "namespaced": true,
				"kind": "VirtualMachineInstance", "singularName": "", "verbs": []any{"update"}}}})
	})
	routes.HandleFunc("PUT "+root+"/namespaces/{space}/virtualmachineinstances/{name}/evacuate/cancel", v.cancel)
}

// cancel takes the mark away again (dossier §4.2, §16).
func (v *virtAPI) cancel(out http.ResponseWriter, in *http.Request) {
	if strings.Contains(in.Header.Get("Accept"), "json") {
		http.Error(out, "406: Not Acceptable", http.StatusNotAcceptable)
		return
	}
	space, name := in.PathValue("space"), in.PathValue("name")
	if allowed, err := v.mayCancel(in.Context(), in.Header, space, name); err != nil || !allowed {
		http.Error(out, fmt.Sprintf("%s may not update virtualmachineinstances/evacuate/cancel",
			in.Header.Get("X-Remote-User")), http.StatusForbidden)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(in.Body, reviewLimit))
	asked := object{}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &asked); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
	}
	code, text := v.cancelMark(in.Context(), space+"/"+name, asked, in.Header.Get("X-Remote-User"))
	if code != http.StatusOK {
		http.Error(out, text, code)
	}
}

func (v *virtAPI) cancelMark(ctx context.Context, key string, asked object, who string) (code int, text string) {
	vmi, err := v.cluster.live(ctx, vmis, key)
	if err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	if vmi == nil {
		return http.StatusNotFound, "virtualmachineinstance.kubevirt.io " + key + " not found"
	}
	node := v.cluster.cached(nodes, textOf(vmi, "status", "nodeName"))
	if node == nil {
		return http.StatusInternalServerError, "node of the VMI not found"
	}
	if hasDrainTaint(node) {
		return http.StatusBadRequest, "the node still has the drain taint"
	}
	marked := textOf(vmi, "status", "evacuationNodeName")
	if named := textOf(asked, "evacuationNodeName"); named == "" || named != marked {
		return http.StatusInternalServerError, fmt.Sprintf("expected evacuationNodeName %q, found %q", marked, named)
	}
	dryRun := false
	for _, each := range listOf(asked, "dryRun") {
		dryRun = dryRun || each == "All"
	}
	err = v.patchVMI(ctx, vmi, []object{{"op": "test", "path": "/status/evacuationNodeName", "value": marked},
		{"op": "remove", "path": "/status/evacuationNodeName"}}, dryRun)
	if err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	if !dryRun {
		v.journal.tell(happening{Event: "evacuation-cancelled", VMI: key, Node: marked, By: who})
	}
	return http.StatusOK, ""
}

// mayCancel asks for the sub-resource's full name; the API server asked for its first part alone.
func (v *virtAPI) mayCancel(ctx context.Context, from http.Header, space, name string) (bool, error) {
	groups := []any{}
	for _, each := range from.Values("X-Remote-Group") {
		groups = append(groups, each)
	}
	made, err := v.cluster.admin.Resource(accessReviews).Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": object{"user": from.Get("X-Remote-User"), "groups": groups,
			"resourceAttributes": object{"namespace": space, "name": name, "verb": "update",
				"group": subresourceGroup, "version": "v1", "resource": "virtualmachineinstances",
				"subresource": "evacuate/cancel"}}}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return flagOf(made.Object, "status", "allowed"), nil
}
