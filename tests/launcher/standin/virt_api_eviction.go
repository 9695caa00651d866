// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	admission "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	tooMany           = http.StatusTooManyRequests // every refusal of an eviction
	evictionSourceKey = "kubevirt.io/eviction-source"
)

// reviewEviction decides in the order of dossier §4.1. What is allowed here really ends the pod.
func (v *virtAPI) reviewEviction(ctx context.Context, asked *admission.AdmissionRequest) verdict {
	pod, err := v.cluster.live(ctx, pods, asked.Namespace+"/"+asked.Name)
	if err != nil {
		return deny(tooMany, "kubevirt failed getting the pod: %s", err)
	}
	if pod == nil {
		return allow()
	}
	phase := textOf(pod, "status", "phase")
	switch {
	case labelOf(pod, "kubevirt.io") == "hotplug-disk":
		return v.reviewHotplug(ctx, pod)
	case labelOf(pod, "kubevirt.io") != "virt-launcher", isFinal(phase), annotationOf(pod, "kubevirt.io/domain") == "":
		return allow()
	}
	vmi, err := v.cluster.live(ctx, vmis, asked.Namespace+"/"+annotationOf(pod, "kubevirt.io/domain"))
	if err != nil || vmi == nil {
		return deny(tooMany, "kubevirt failed getting the vmi: %s/%s", asked.Namespace, annotationOf(pod, "kubevirt.io/domain"))
	}
	said, decided := v.byStrategy(vmi)
	if decided {
		return said
	}
	return v.triggerEvacuation(ctx, asked, vmi, pod)
}

func (v *virtAPI) reviewHotplug(ctx context.Context, pod object) verdict {
	owner := ""
	for _, each := range listOf(pod, "metadata", "ownerReferences") {
		one, _ := each.(object)
		owner = textOf(one, "name")
	}
	space, _ := split(keyOf(pod))
	if vmi, err := v.cluster.live(ctx, vmis, space+"/"+owner); err == nil && vmi == nil {
		return allow()
	}
	return deny(tooMany, "cannot evict hotplug pod: %s associated with running vmi: %s/%s",
		textOf(pod, "metadata", "name"), space, owner)
}

func (v *virtAPI) byStrategy(vmi object) (said verdict, decided bool) {
	migratable, _ := conditionOf(vmi, "LiveMigratable")
	switch v.cluster.effectiveStrategy(vmi) {
	case "LiveMigrate":
		if migratable != "True" {
			return deny(tooMany, "VMI %s is configured with an eviction strategy but is not live-migratable",
				textOf(vmi, "metadata", "name")), true
		}
	case "LiveMigrateIfPossible":
		if migratable != "True" {
			return allow(), true
		}
	case "External":
	default:
		return allow(), true
	}
	return verdict{}, false
}

func (v *virtAPI) triggerEvacuation(ctx context.Context, asked *admission.AdmissionRequest, vmi, pod object) verdict {
	prefix := ""
	if textOf(vmi, "status", "evacuationNodeName") != "" {
		prefix = "Evacuation in progress: "
	} else if textOf(vmi, "status", "nodeName") != textOf(pod, "spec", "nodeName") {
		return deny(tooMany, "Eviction request for target Pod")
	}
	if prefix == "" {
		dryRun, byDescheduler := readEviction(asked)
		if err := v.stamp(ctx, vmi, textOf(pod, "spec", "nodeName"), dryRun, byDescheduler); err != nil {
			return deny(tooMany, "kubevirt failed marking the vmi for eviction: %s", err)
		}
		if !dryRun {
			v.journal.tell(happening{Event: "evacuation-marked", VMI: keyOf(vmi), By: asked.UserInfo.Username,
				Node: textOf(pod, "spec", "nodeName")})
		}
	}
	return deny(tooMany, "%sEviction triggered evacuation of VMI %q", prefix, keyOf(vmi))
}

func readEviction(asked *admission.AdmissionRequest) (dryRun, byDescheduler bool) {
	dryRun = asked.DryRun != nil && *asked.DryRun
	eviction, err := parsed(asked.Object.Raw)
	if err != nil {
		return dryRun, false
	}
	for _, each := range listOf(eviction, "deleteOptions", "dryRun") {
		dryRun = dryRun || each == "All"
		break // only the first counts
	}
	return dryRun, annotationOf(eviction, "requested-by") == "sigs.k8s.io/descheduler"
}

// stamp marks a VMI to leave its node.
func (v *virtAPI) stamp(ctx context.Context, vmi object, node string, dryRun, byDescheduler bool) error {
	patch := []object{{"op": "add", "path": "/status/evacuationNodeName", "value": node}}
	if byDescheduler {
		if objectOf(vmi, "metadata", "annotations") == nil {
			// KubeVirt's own slip: the key is escaped where it is none of a pointer.
			patch = append(patch, object{"op": "add", "path": "/metadata/annotations",
				"value": object{strings.ReplaceAll(evictionSourceKey, "/", "~1"): "descheduler"}})
		} else {
			patch = append(patch, object{"op": "add", "path": "/metadata/annotations/" +
				strings.ReplaceAll(evictionSourceKey, "/", "~1"), "value": "descheduler"})
		}
	}
	return v.patchVMI(ctx, vmi, patch, dryRun)
}

func (v *virtAPI) patchVMI(ctx context.Context, vmi object, patch []object, dryRun bool) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	space, name := split(keyOf(vmi))
	_, err = v.cluster.api.Resource(vmis).Namespace(space).Patch(ctx, name, types.JSONPatchType, text, options)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
