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

// askAdmission asks for first launcher pods as an API server would, 200 times in a second whether
// answers come or not, in turn with questions for a path that is not there: "admission" and "empty",
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
	review, err := reviewOfLauncher(config)
	if err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	for range rounds {
		for kind, send := range map[string]func() error{
			"admission": func() error { return ask.admission(review) }, "empty": ask.empty} {
			some, err := atRate(send)
			if err != nil {
				return err
			}
			took[kind] = append(took[kind], some...)
		}
	}
	fmt.Printf("review of %d bytes\n", len(review))
	for _, kind := range []string{"admission", "empty"} {
		all := took[kind]
		slices.Sort(all)
		fmt.Printf("%s %.6f %.6f\n", kind, all[len(all)/2].Seconds(), all[len(all)*99/100].Seconds())
	}
	return nil
}

// reviewOfLauncher is about a pod like one that guests has made, before it has a node.
func reviewOfLauncher(config *rest.Config) ([]byte, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	text, err := client.CoreV1().RESTClient().Get().Resource("pods").Namespace(spaceOf(0)).Name(launcherOf(0)).
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
	return json.Marshal(document{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"request": document{
			"uid": uuidOf(1, 1), "kind": document{"group": "", "version": "v1", "kind": "Pod"},
			"resource":  document{"group": "", "version": "v1", "resource": "pods"},
			"namespace": spaceOf(0), "operation": "CREATE", "dryRun": false,
			"userInfo": document{"username": "system:serviceaccount:kubevirt:kubevirt-controller"},
			"object":   pod, "oldObject": nil,
		},
	})
}

func (a *asking) admission(review []byte) error {
	answer, err := a.client.Post(a.url+"/first", "application/json", bytes.NewReader(review))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var told struct{ Response struct{ Patch []byte } }
	if err := json.NewDecoder(answer.Body).Decode(&told); err != nil {
		return err
	}
	if len(told.Response.Patch) == 0 {
		return fmt.Errorf("expected a patch, found HTTP %d without one", answer.StatusCode)
	}
	return nil
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
