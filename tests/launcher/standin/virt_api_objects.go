// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"reflect"

	admission "k8s.io/api/admission/v1"
)

func isKubevirts(user string) bool {
	return user == apiAccount || user == controllerAccount || user == handlerAccount || user == syncAccount
}

// Labels of a VMI that only KubeVirt may change.
var guardedLabels = []string{"kubevirt.io/created-by", moveUIDKey, nodeNameKey, targetNodeKey,
	"kubevirt.io/schedulable", "kubevirt.io/install-strategy"}

// mutateVMI gives a new VMI its defaults, and undoes what others write to a status, silently (dossier §4.3).
func (v *virtAPI) mutateVMI(_ context.Context, asked *admission.AdmissionRequest) verdict {
	vmi, err := parsed(asked.Object.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	said := allow()
	if asked.Operation == admission.Create {
		finalizers := append(listOf(vmi, "metadata", "finalizers"), foregroundFinalizer)
		said.patch = append(said.patch, object{"op": "add", "path": "/metadata/finalizers", "value": finalizers})
		if textOf(vmi, "spec", "evictionStrategy") == "" {
			said.patch = append(said.patch, object{"op": "add", "path": "/spec/evictionStrategy",
				"value": v.cluster.effectiveStrategy(vmi)})
		}
		return said
	}
	before, err := parsed(asked.OldObject.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	if v.fork || isKubevirts(asked.UserInfo.Username) || reflect.DeepEqual(vmi["status"], before["status"]) {
		return said
	}
	if old, there := before["status"]; there {
		said.patch = append(said.patch, object{"op": "add", "path": "/status", "value": old})
	} else {
		said.patch = append(said.patch, object{"op": "remove", "path": "/status"})
	}
	return said
}

func (v *virtAPI) validateVMI(_ context.Context, asked *admission.AdmissionRequest) verdict {
	if isKubevirts(asked.UserInfo.Username) {
		return allow()
	}
	vmi, err := parsed(asked.Object.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	before, err := parsed(asked.OldObject.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	if !reflect.DeepEqual(vmi["spec"], before["spec"]) {
		return deny(http.StatusUnprocessableEntity, "update of VMI object is restricted")
	}
	for _, key := range guardedLabels {
		if labelOf(vmi, key) != labelOf(before, key) {
			return deny(http.StatusUnprocessableEntity, "only KubeVirt may change the label %s of a VMI", key)
		}
	}
	return allow()
}

// mutateMigration makes a migration found by its VMI, and held until its abort is done.
func (v *virtAPI) mutateMigration(_ context.Context, asked *admission.AdmissionRequest) verdict {
	move, err := parsed(asked.Object.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	labels := objectOf(move, "metadata", "labels")
	if labels == nil {
		labels = object{}
	}
	labels["kubevirt.io/vmi-name"] = textOf(move, "spec", "vmiName")
	finalizers := append(listOf(move, "metadata", "finalizers"), moveFinalizer)
	return verdict{allowed: true, patch: []object{
		{"op": "add", "path": "/metadata/labels", "value": labels},
		{"op": "add", "path": "/metadata/finalizers", "value": finalizers}}}
}

func (v *virtAPI) validateMigration(ctx context.Context, asked *admission.AdmissionRequest) verdict {
	move, err := parsed(asked.Object.Raw)
	if err != nil {
		return deny(http.StatusBadRequest, "%s", err)
	}
	if asked.Operation == admission.Update {
		before, err := parsed(asked.OldObject.Raw)
		if err != nil {
			return deny(http.StatusBadRequest, "%s", err)
		}
		if !reflect.DeepEqual(move["spec"], before["spec"]) {
			return deny(http.StatusUnprocessableEntity, "update of Migration object's spec is restricted")
		}
		return allow()
	}
	return v.validateNewMigration(ctx, asked, move)
}

// validateNewMigration refuses what dossier §4.5 lists.
func (v *virtAPI) validateNewMigration(ctx context.Context, asked *admission.AdmissionRequest, move object) verdict {
	name := textOf(move, "spec", "vmiName")
	if name == "" {
		return deny(http.StatusUnprocessableEntity, "spec.vmiName is missing")
	}
	if textOf(move, "spec", "priority") != "" && asked.UserInfo.Username != controllerAccount {
		return deny(http.StatusUnprocessableEntity, "spec.migrationPriority: only virt-controller may set it")
	}
	vmi, err := v.cluster.live(ctx, vmis, asked.Namespace+"/"+name)
	if err != nil {
		return deny(http.StatusInternalServerError, "%s", err)
	}
	if vmi == nil {
		return deny(http.StatusBadRequest, "the VMI \"%s/%s\" does not exist under the cluster", asked.Namespace, name)
	}
	if isFinal(textOf(vmi, "status", "phase")) {
		return deny(http.StatusBadRequest, "Cannot migrate VMI in finalized state.")
	}
	if status, reason := conditionOf(vmi, "LiveMigratable"); status == "False" {
		return deny(http.StatusBadRequest, "Cannot migrate VMI, Reason: %s", reason)
	}
	unfinished, err := v.cluster.movesOf(ctx, vmi, false)
	if err != nil {
		return deny(http.StatusInternalServerError, "%s", err)
	}
	for _, each := range unfinished {
		return deny(http.StatusBadRequest, "in-flight migration detected. Active migration job (%s) is currently already in progress for VMI %s.",
			textOf(each, "metadata", "uid"), name)
	}
	return allow()
}
