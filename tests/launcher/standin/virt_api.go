// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"time"

	admission "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const reviewLimit = 8 << 20 // bytes

// virtAPI plays virt-api: admission of evictions, VMIs and migrations, and evacuate/cancel. It listens on
// loopback.
type virtAPI struct {
	cluster *cluster
	journal *journal
	fork    bool // whose status webhook lets others stamp VMIs

	address string
	bundle  []byte // of its own certificate
}

// verdict is the answer to one admission request.
type verdict struct {
	allowed bool
	code    int32
	message string
	patch   []object // JSON patch
}

func allow() verdict { return verdict{allowed: true} }
func deny(code int32, format string, of ...any) verdict {
	return verdict{code: code, message: fmt.Sprintf(format, of...)}
}

func (v *virtAPI) run(ctx context.Context) error {
	certificate, bundle, err := ownCertificate("virt-api."+kubevirtSpace+".svc", "localhost")
	if err != nil {
		return err
	}
	v.bundle = bundle
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v.address = listener.Addr().String()
	server := &http.Server{Handler: v.routes(), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return v.register(ctx)
}

func (v *virtAPI) routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("/pod-eviction-validate", v.review(v.reviewEviction))
	routes.HandleFunc("/virtualmachineinstances-mutate", v.review(v.mutateVMI))
	routes.HandleFunc("/virtualmachineinstances-validate-update", v.review(v.validateVMI))
	routes.HandleFunc("/migration-mutate-create", v.review(v.mutateMigration))
	routes.HandleFunc("/migration-validate", v.review(v.validateMigration))
	// What is no part of KubeVirt and may stand in its way: a test registers it.
	routes.HandleFunc("/other-product", v.review(func(context.Context, *admission.AdmissionRequest) verdict {
		return deny(tooMany, "too many evictions at once, try later")
	}))
	v.serveSubresources(routes)
	return routes
}

func (v *virtAPI) review(judge func(context.Context, *admission.AdmissionRequest) verdict) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(io.LimitReader(in.Body, reviewLimit))
		asked := admission.AdmissionReview{}
		if err != nil || json.Unmarshal(body, &asked) != nil || asked.Request == nil {
			http.Error(out, "expected an AdmissionReview", http.StatusBadRequest)
			return
		}
		said := judge(in.Context(), asked.Request)
		answer := &admission.AdmissionResponse{UID: asked.Request.UID, Allowed: said.allowed}
		if !said.allowed {
			answer.Result = &metav1.Status{Status: metav1.StatusFailure, Code: said.code, Message: said.message}
		}
		if len(said.patch) > 0 {
			kind := admission.PatchTypeJSONPatch
			answer.PatchType = &kind
			answer.Patch, _ = json.Marshal(said.patch)
		}
		asked.Request, asked.Response = nil, answer
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(asked)
	}
}

// ownCertificate is one that is its own authority.
func ownCertificate(names ...string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	wanted := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, wanted, wanted, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bundle, nil
}

// put creates an object of the cluster, or replaces the one that is there.
func (v *virtAPI) put(ctx context.Context, group, version, plural string, one object) error {
	kind := vmis
	kind.Group, kind.Version, kind.Resource = group, version, plural
	space, _ := split(keyOf(one))
	client := v.cluster.admin.Resource(kind).Namespace(space)
	_, err := client.Create(ctx, &unstructured.Unstructured{Object: one}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := client.Get(ctx, textOf(one, "metadata", "name"), metav1.GetOptions{})
	if err != nil {
		return err
	}
	set(one, found.GetResourceVersion(), "metadata", "resourceVersion")
	_, err = client.Update(ctx, &unstructured.Unstructured{Object: one}, metav1.UpdateOptions{})
	return err
}
