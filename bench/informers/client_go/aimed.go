// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/client-go/rest"
)

const (
	termKey     = "virt-scout.io/added-node-selector-term"
	sentinelKey = "virt-scout.io/target-term"
)

// aimedReviews are about a migration that asks for certain nodes, which is then made, and about the
// target pod that KubeVirt would make of it, after the launcher's.
func (a *asking) aimedReviews(client rest.Interface, launcher document) (move, pod []byte, err error) {
	migration := document{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": document{"name": "aimed", "namespace": spaceOf(0), "annotations": document{
			termKey: `{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["amd64"]}]}`}},
		"spec": document{"vmiName": vmOf(0)},
	}
	if move, err = reviewOf("kubevirt.io", "virtualmachineinstancemigrations",
		"VirtualMachineInstanceMigration", migration); err != nil {
		return nil, nil, err
	}
	patch, err := a.patch("/target/move", move)
	if err != nil {
		return nil, nil, err
	}
	digest, err := sentinelIn(patch)
	if err != nil {
		return nil, nil, err
	}
	below(migration, "spec")["addedNodeSelector"] = document{sentinelKey: digest}
	uid, err := created(client, migration)
	if err != nil {
		return nil, nil, err
	}
	target := maps.Clone(launcher)
	meta, spec := maps.Clone(below(launcher, "metadata")), maps.Clone(below(launcher, "spec"))
	meta["labels"] = with(below(meta, "labels"), "kubevirt.io/migrationJobUID", uid)
	meta["annotations"] = with(below(meta, "annotations"), "kubevirt.io/migrationJobName", "aimed")
	spec["nodeSelector"] = with(below(spec, "nodeSelector"), sentinelKey, digest)
	target["metadata"], target["spec"] = meta, spec
	pod, err = reviewOf("", "pods", "Pod", target)
	return move, pod, err
}

func with(all document, key, value string) document {
	more := document{key: value}
	maps.Copy(more, all)
	more[key] = value
	return more
}

func sentinelIn(patch []byte) (string, error) {
	var steps []struct {
		Path  string
		Value any
	}
	if err := json.Unmarshal(patch, &steps); err != nil {
		return "", err
	}
	for _, step := range steps {
		if digest, is := step.Value.(string); is {
			return digest, nil
		}
	}
	return "", fmt.Errorf("expected what stands for the term, found %s", patch)
}

func created(client rest.Interface, migration document) (string, error) {
	body, err := json.Marshal(migration)
	if err != nil {
		return "", err
	}
	text, err := client.Post().AbsPath("/apis/kubevirt.io/v1/namespaces", spaceOf(0),
		"virtualmachineinstancemigrations").Body(body).SetHeader("Content-Type", "application/json").
		Do(context.Background()).Raw()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	var made struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal(text, &made); err != nil {
		return "", err
	}
	return made.Metadata.UID, nil
}
