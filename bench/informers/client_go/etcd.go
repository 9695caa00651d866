// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const (
	vmiFolder = "/registry/kubevirt.io/virtualmachineinstances/"
	podFolder = "/registry/pods/"
)

// copyAll makes the others like the first VMI and pod in the API server's store itself, which takes a
// minute; the API server would take a quarter of an hour. All names have their length in common, so
// that the stored form, whatever it is, stays well formed.
func copyAll(etcd string, nodes, vmis, pods int, vmi, pod string) error {
	store := store{etcd, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}}
	storedVMI, err := store.get(vmiFolder + spaceOf(0) + "/" + vmOf(0))
	if err != nil {
		return err
	}
	storedPod, err := store.get(podFolder + spaceOf(0) + "/" + launcherOf(0))
	if err != nil {
		return err
	}
	return each(vmis-1, func(i int) error {
		i++ // the first is there
		renamed := strings.NewReplacer(vmOf(0), vmOf(i), spaceOf(0), spaceOf(i), name(0), name(i%nodes),
			uuidOf(firmware, 0), uuidOf(firmware, i), uuidOf(podID, 0), uuidOf(podID, i), vmi, uuidOf(vmID, i), pod, uuidOf(podID, i))
		err := store.put(vmiFolder+spaceOf(i)+"/"+vmOf(i), renamed.Replace(storedVMI))
		if err == nil && i < pods {
			err = store.put(podFolder+spaceOf(i)+"/"+launcherOf(i), renamed.Replace(storedPod))
		}
		return err
	})
}

// store is etcd's JSON gateway.
type store struct {
	url    string
	client *http.Client
}

func (s store) get(key string) (string, error) {
	var answer struct {
		Kvs []struct{ Value []byte }
	}
	if err := s.call("range", map[string][]byte{"key": []byte(key)}, &answer); err != nil {
		return "", err
	}
	if len(answer.Kvs) != 1 {
		return "", fmt.Errorf("etcd: expected a value of %s, found none", key)
	}
	return string(answer.Kvs[0].Value), nil
}

func (s store) put(key, value string) error {
	var answer struct{ Header document }
	return s.call("put", map[string][]byte{"key": []byte(key), "value": []byte(value)}, &answer)
}

func (s store) call(verb string, question map[string][]byte, told any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	answer, err := s.client.Post(s.url+"/v3/kv/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: HTTP %d to %s", answer.StatusCode, verb)
	}
	return json.NewDecoder(answer.Body).Decode(told)
}
