// SPDX-License-Identifier: Apache-2.0

// Bed is the control plane of a Kubernetes cluster in one program: `bed up` starts all parts, each of
// them this program again with the part's name and its own command line. `bed filters`, `bed matches` and
// `bed selector` need no cluster: they say what the scheduler's code decides about what they are given.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "expected: bed up|etcd|apiserver|scheduler|controllers|filters|matches|selector [FLAGS]")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	switch part {
	case "up":
		endWith(up(os.Args[1:]))
	case "filters", "matches", "selector":
		endWith(oracle(part, os.Args[1:]))
	case "etcd":
		etcdmain.Main(os.Args)
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "expected up, etcd, apiserver, scheduler, controllers, filters, matches or selector, found %q\n", part)
		os.Exit(2)
	}
}

func endWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bed: "+err.Error())
		os.Exit(1)
	}
}
