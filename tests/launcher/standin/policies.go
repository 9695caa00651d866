// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// matched says of how many labels the selector is, if all of them are there with these very values.
func matched(selector, labels object) (int, bool) {
	for key, value := range selector {
		if has, there := labels[key]; !there || has != value {
			return 0, false
		}
	}
	return len(selector), true
}

// policyFor chooses as KubeVirt does (dossier §7): more labels, then more of the VMI's, then the lower name. Nil: none.
func (m *migrationController) policyFor(ctx context.Context, vmi object) (object, error) {
	list, err := m.cluster.admin.Resource(policies).List(ctx, metav1.ListOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	space, err := m.cluster.admin.Resource(namespaces).Get(ctx, textOf(vmi, "metadata", "namespace"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var best object
	most, mostOfVMI := -1, -1
	for at := range list.Items {
		policy := list.Items[at].Object
		selectors := objectOf(policy, "spec", "selectors")
		if selectors == nil {
			continue
		}
		ofSpace, fitsSpace := matched(objectOf(selectors, "namespaceSelector"), objectOf(space.Object, "metadata", "labels"))
		ofVMI, fitsVMI := matched(objectOf(selectors, "virtualMachineInstanceSelector"), objectOf(vmi, "metadata", "labels"))
		all := ofSpace + ofVMI
		name := textOf(policy, "metadata", "name")
		if fitsSpace && fitsVMI && (all > most || all == most && (ofVMI > mostOfVMI ||
			ofVMI == mostOfVMI && name < textOf(best, "metadata", "name"))) {
			best, most, mostOfVMI = policy, all, ofVMI
		}
	}
	return best, nil
}

// byPolicy lies over KubeVirt's numbers what the policy says; its name, if there is one.
func byPolicy(numbers, policy object) string {
	for _, key := range []string{"allowAutoConverge", "allowPostCopy", "allowWorkloadDisruption", "bandwidthPerMigration",
		"completionTimeoutPerGiB"} {
		if value, there := objectOf(policy, "spec")[key]; there {
			numbers[key] = value
		}
	}
	return textOf(policy, "metadata", "name")
}

// switchesAfter is when a migration that does not end is switched over, or its guest paused; 0: never, it is waited for.
func switchesAfter(vmi, numbers object) time.Duration {
	const gigabyte = 1_000_000_000
	if !flagOf(numbers, "allowPostCopy") && !flagOf(numbers, "allowWorkloadDisruption") {
		return 0
	}
	begun := (memoryKiB(vmi)<<10 + gigabyte - 1) / gigabyte
	return time.Duration(numberOf(numbers, 150, "completionTimeoutPerGiB")*begun) * time.Second
}
