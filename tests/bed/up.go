// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const startLimit = 60 * time.Second

type options struct {
	folder      string
	etcd        string
	controllers bool
	scheduler   bool
	arguments   string
}

// ready is what `bed up` prints, as one line, once the cluster answers.
type ready struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Folder     string `json:"folder"`
	EtcdURL    string `json:"etcd"`
}

type cluster struct {
	options
	program string
	etcdURL string
	server  string
	ca      *authority
	admin   *pair
	parts   []*part
	ended   chan *exec.Cmd
	lines   chan string // of standard input; closed at its end
}

// up runs one control plane until its standard input ends or it is told to stop: whoever started it
// cannot leave it behind, not even by crashing. A line of the input stops or starts a part.
func up(arguments []string) error {
	var chosen options
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.StringVar(&chosen.folder, "folder", "", "where all state goes; must exist")
	flags.StringVar(&chosen.etcd, "etcd", "", "an etcd program instead of the one within")
	flags.BoolVar(&chosen.controllers, "controllers", true, "run kube-controller-manager")
	flags.BoolVar(&chosen.scheduler, "scheduler", true, "run kube-scheduler")
	flags.StringVar(&chosen.arguments, "apiserver-flags", "", "further flags of kube-apiserver, by spaces")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if chosen.folder == "" {
		return errors.New("expected --folder DIR: where all state goes")
	}
	// A child is killed by the kernel when the thread that started it ends: this one, with us.
	runtime.LockOSThread()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	c := &cluster{options: chosen, program: program, ended: make(chan *exec.Cmd, 64),
		lines: make(chan string)}
	go c.readLines()
	defer c.stop()
	if err := c.start(); err != nil {
		return err
	}
	line, err := json.Marshal(ready{c.server, c.path("admin.kubeconfig"), c.folder, c.etcdURL})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return c.wait()
}

func (c *cluster) path(name string) string { return filepath.Join(c.folder, name) }

func (c *cluster) start() error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.server = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	if err := c.makeTrust(); err != nil {
		return err
	}
	if err := c.startEtcd(ports[0], ports[1]); err != nil {
		return err
	}
	if err := c.startServer(ports[2]); err != nil {
		return err
	}
	if err := c.awaitReady(); err != nil {
		return err
	}
	if c.controllers {
		if err := c.run("controllers", c.controllerFlags()...); err != nil {
			return err
		}
	}
	if c.scheduler {
		return c.run("scheduler", "--kubeconfig="+c.path("scheduler.kubeconfig"), "--leader-elect=false",
			"--secure-port=0", "--authentication-skip-lookup=true")
	}
	return nil
}

func (c *cluster) makeTrust() error {
	var err error
	if c.ca, err = newAuthority("bed"); err != nil {
		return err
	}
	front, err := newAuthority("bed-front-proxy")
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"ca.crt": c.ca.pem, "front-proxy-ca.crt": front.pem} {
		if err := os.WriteFile(c.path(name), text, 0o600); err != nil {
			return err
		}
	}
	serving, err := c.ca.issue("kube-apiserver", nil, "127.0.0.1", "::1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	proxy, err := front.issue("front-proxy-client", nil)
	if err != nil {
		return err
	}
	tokens, err := c.ca.issue("service-accounts", nil)
	if err != nil {
		return err
	}
	for name, each := range map[string]*pair{"apiserver": serving, "front-proxy": proxy, "tokens": tokens} {
		if err := each.write(c.folder, name); err != nil {
			return err
		}
	}
	return c.makeUsers()
}

func (c *cluster) makeUsers() error {
	users := map[string]struct {
		name   string
		groups []string
	}{
		"admin":       {"bed-admin", []string{"system:masters"}},
		"controllers": {"system:kube-controller-manager", nil},
		"scheduler":   {"system:kube-scheduler", nil},
	}
	for file, user := range users {
		client, err := c.ca.issue(user.name, user.groups)
		if err != nil {
			return err
		}
		if file == "admin" {
			c.admin = client
		}
		if err := os.WriteFile(c.path(file+".kubeconfig"), c.kubeconfig(client), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) kubeconfig(client *pair) []byte {
	coded := base64.StdEncoding.EncodeToString
	return []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: bed
clusters: [{name: bed, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: bed, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: bed, context: {cluster: bed, user: bed}}]
`, c.server, coded(c.ca.pem), coded(client.certificate), coded(client.key)))
}

func (c *cluster) startEtcd(client, peer int) error {
	c.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", client)
	between := fmt.Sprintf("http://127.0.0.1:%d", peer)
	flags := []string{"--name=bed", "--data-dir=" + c.path("etcd"), "--listen-client-urls=" + c.etcdURL,
		"--advertise-client-urls=" + c.etcdURL, "--listen-peer-urls=" + between,
		"--initial-advertise-peer-urls=" + between, "--initial-cluster=bed=" + between,
		"--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes=8589934592"}
	if c.etcd != "" {
		return c.runProgram("etcd", c.etcd, flags...)
	}
	return c.run("etcd", flags...)
}

func (c *cluster) startServer(port int) error {
	flags := []string{"--etcd-servers=" + c.etcdURL, "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.path("apiserver.crt"), "--tls-private-key-file=" + c.path("apiserver.key"),
		"--client-ca-file=" + c.path("ca.crt"), "--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.path("tokens.key"),
		"--service-account-signing-key-file=" + c.path("tokens.key"),
		"--requestheader-client-ca-file=" + c.path("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.path("front-proxy.crt"),
		"--proxy-client-key-file=" + c.path("front-proxy.key"),
		"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--profiling=false", "--allow-privileged=true", "--shutdown-delay-duration=0s"}
	return c.run("apiserver", append(flags, strings.Fields(c.arguments)...)...)
}

func (c *cluster) controllerFlags() []string {
	return []string{"--kubeconfig=" + c.path("controllers.kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--use-service-account-credentials=true",
		"--service-account-private-key-file=" + c.path("tokens.key"), "--root-ca-file=" + c.path("ca.crt"),
		// No kubelet beats here: nodes stay as the tests make them.
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"}
}

func (c *cluster) awaitReady() error {
	trust := x509.NewCertPool()
	trust.AddCert(c.ca.certificate)
	client, err := tls.X509KeyPair(c.admin.certificate, c.admin.key)
	if err != nil {
		return err
	}
	web := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{client}}}}
	defer web.CloseIdleConnections()
	for until := time.Now().Add(startLimit); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		select {
		case ended := <-c.ended:
			if err := c.faultOf(ended); err != nil {
				return err
			}
		case line, more := <-c.lines:
			if !more {
				return errors.New("whoever started this has gone")
			}
			return fmt.Errorf("expected a line once the last thing asked is done, found %q early", line)
		default:
		}
		answer, err := web.Get(c.server + "/readyz")
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the API server is not ready within %s: see %s", startLimit, c.path("apiserver.log"))
}

// freePorts are free now; held until all are known, so that no two are the same.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
