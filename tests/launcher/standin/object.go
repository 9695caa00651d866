// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Members of a Kubernetes object by their path; what is not there, or of another kind, is empty.

func textOf(from object, path ...string) string {
	value, _, _ := unstructured.NestedString(from, path...)
	return value
}

func flagOf(from object, path ...string) bool {
	value, _, _ := unstructured.NestedBool(from, path...)
	return value
}

func objectOf(from object, path ...string) object {
	value, _, _ := unstructured.NestedFieldNoCopy(from, path...)
	found, _ := value.(object)
	return found
}

func listOf(from object, path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(from, path...)
	found, _ := value.([]any)
	return found
}

func numberOf(from object, otherwise int64, path ...string) int64 {
	value, _, _ := unstructured.NestedFieldNoCopy(from, path...)
	switch number := value.(type) {
	case int64:
		return number
	case float64:
		return int64(number)
	}
	return otherwise
}

func set(in object, value any, path ...string) {
	_ = unstructured.SetNestedField(in, value, path...)
}

func remove(from object, path ...string) { unstructured.RemoveNestedField(from, path...) }

// copied is for objects of a cache, which nobody may change.
func copied(one object) object {
	return (&unstructured.Unstructured{Object: one}).DeepCopy().Object
}

// parsed reads a document as the caches do, whole numbers as such.
func parsed(text []byte) (object, error) {
	one := &unstructured.Unstructured{}
	found := object{}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	one.SetUnstructuredContent(found)
	return one.Object, nil
}

func keyOf(one object) string {
	return textOf(one, "metadata", "namespace") + "/" + textOf(one, "metadata", "name")
}

func isDeleting(one object) bool { return textOf(one, "metadata", "deletionTimestamp") != "" }

func isFinal(phase string) bool { return phase == "Succeeded" || phase == "Failed" }

// conditionOf gives the status of a condition ("" if it is not there), and its reason.
func conditionOf(one object, kind string) (status, reason string) {
	for _, each := range listOf(one, "status", "conditions") {
		condition, _ := each.(object)
		if textOf(condition, "type") == kind {
			return textOf(condition, "status"), textOf(condition, "reason")
		}
	}
	return "", ""
}

// setCondition sets or replaces one; true if that changes anything. A status "" takes it away.
func setCondition(one object, kind, status, reason, message string) bool {
	had, hadReason := conditionOf(one, kind)
	if had == status && hadReason == reason {
		return false
	}
	kept := []any{}
	for _, each := range listOf(one, "status", "conditions") {
		if condition, _ := each.(object); textOf(condition, "type") != kind {
			kept = append(kept, each)
		}
	}
	if status != "" {
		condition := object{"type": kind, "status": status, "lastTransitionTime": now()}
		if reason != "" {
			condition["reason"] = reason
		}
		if message != "" {
			condition["message"] = message
		}
		kept = append(kept, condition)
	}
	set(one, kept, "status", "conditions")
	return true
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// setPhase sets status.phase and when.
func setPhase(one object, phase string) {
	set(one, phase, "status", "phase")
	stamps := append([]any{}, listOf(one, "status", "phaseTransitionTimestamps")...)
	set(one, append(stamps, object{"phase": phase, "phaseTransitionTimestamp": now()}),
		"status", "phaseTransitionTimestamps")
}

func annotationOf(one object, key string) string {
	return textOf(one, "metadata", "annotations", key)
}

func labelOf(one object, key string) string { return textOf(one, "metadata", "labels", key) }
