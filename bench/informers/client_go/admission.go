// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	answersPerSecond = 200
	round            = 10 * time.Second
	rounds           = 3
)

type asking struct {
	client http.Client
	url    string
}

// askAdmission asks what an API server would, 200 times in a second whether answers come or not, each
// kind in turn: "first" about first launcher pods, "move" about migrations with a term, "pod" about
// their target pods, "policy" about migration policies, and "empty" for a path that is not there;
// each with its median and 99th percentile in seconds.
func askAdmission(config *rest.Config, url, authority string) error {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(pem)
	ask := asking{url: url, client: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trust}, MaxIdleConnsPerHost: 64}}}
	questions, err := ask.questions(config)
	if err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	for range rounds {
		for kind, send := range questions {
			some, err := atRate(send)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			took[kind] = append(took[kind], some...)
		}
	}
	for kind, all := range took {
		slices.Sort(all)
		fmt.Printf("%s %.6f %.6f\n", kind, all[len(all)/2].Seconds(), all[len(all)*99/100].Seconds())
	}
	return nil
}

func (a *asking) questions(config *rest.Config) (map[string]func() error, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pod, err := launcherBefore(client.CoreV1().RESTClient())
	if err != nil {
		return nil, err
	}
	first, err := reviewOf("", "pods", "Pod", pod)
	if err != nil {
		return nil, err
	}
	move, target, err := a.aimedReviews(client.CoreV1().RESTClient(), pod)
	if err != nil {
		return nil, err
	}
	policy, err := reviewOf("migrations.kubevirt.io", "migrationpolicies", "MigrationPolicy", policyLikeAnother())
	if err != nil {
		return nil, err
	}
	patched := func(path string, review []byte) func() error {
		return func() error {
			_, err := a.patch(path, review)
			return err
		}
	}
	return map[string]func() error{"first": patched("/first", first), "move": patched("/target/move", move),
		"pod": patched("/target/pod", target), "empty": a.empty,
		"policy": func() error { return a.warned("/policies", policy) }}, nil
}

// policyLikeAnother chooses what the first of those chooses that cluster_numbers.py has made.
func policyLikeAnother() document {
	return document{"apiVersion": "migrations.kubevirt.io/v1alpha1", "kind": "MigrationPolicy",
		"metadata": document{"name": "that-is-new"},
		"spec": document{"selectors": document{
			"namespaceSelector":              document{"env": "prod"},
			"virtualMachineInstanceSelector": document{"app": "a0"}}}}
}

// launcherBefore is a pod like one that guests has made, before it has a node.
func launcherBefore(client rest.Interface) (document, error) {
	text, err := client.Get().Resource("pods").Namespace(spaceOf(0)).Name(launcherOf(0)).
		SetHeader("Accept", "application/json").Do(context.Background()).Raw()
	if err != nil {
		return nil, err
	}
	pod := document{}
	if err := json.Unmarshal(text, &pod); err != nil {
		return nil, err
	}
	delete(pod, "status")
	delete(below(pod, "spec"), "nodeName")
	return pod, nil
}

func reviewOf(group, plural, kind string, object document) ([]byte, error) {
	return json.Marshal(document{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"request": document{
			"uid": uuidOf(1, 1), "kind": document{"group": group, "version": "v1", "kind": kind},
			"resource":  document{"group": group, "version": "v1", "resource": plural},
			"namespace": spaceOf(0), "operation": "CREATE", "dryRun": false,
			"userInfo": document{"username": "system:serviceaccount:kubevirt:kubevirt-controller"},
			"object":   object, "oldObject": nil,
		},
	})
}

type response struct {
	Patch    []byte
	Warnings []string
}

func (a *asking) post(path string, review []byte) (response, error) {
	var told struct{ Response response }
	answer, err := a.client.Post(a.url+path, "application/json", bytes.NewReader(review))
	if err != nil {
		return told.Response, err
	}
	defer answer.Body.Close()
	return told.Response, json.NewDecoder(answer.Body).Decode(&told)
}

// patch is the JSON Patch that a webhook answers with: an answer without one is none.
func (a *asking) patch(path string, review []byte) ([]byte, error) {
	told, err := a.post(path, review)
	if err == nil && len(told.Patch) == 0 {
		err = fmt.Errorf("expected a patch, found none %q", told.Warnings)
	}
	return told.Patch, err
}

// warned expects that something is said.
func (a *asking) warned(path string, review []byte) error {
	told, err := a.post(path, review)
	if err == nil && len(told.Warnings) == 0 {
		err = fmt.Errorf("expected a warning of %s, found none", path)
	}
	return err
}

func (a *asking) empty() error {
	answer, err := a.client.Get(a.url + "/")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("expected HTTP 404, found %d", answer.StatusCode)
	}
	return nil
}

// atRate answers how long each took from when it was due.
func atRate(send func() error) ([]time.Duration, error) {
	count := int(round.Seconds() * answersPerSecond)
	took, faults := make([]time.Duration, count), make([]error, count)
	var asked sync.WaitGroup
	begin := time.Now()
	for i := range count {
		due := begin.Add(time.Duration(i) * time.Second / answersPerSecond)
		time.Sleep(time.Until(due))
		asked.Go(func() {
			faults[i] = send()
			took[i] = time.Since(due)
		})
	}
	asked.Wait()
	for _, fault := range faults {
		if fault != nil {
			return nil, fault
		}
	}
	return took, nil
}
