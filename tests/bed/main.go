// SPDX-License-Identifier: Apache-2.0

// Bed is the control plane of a Kubernetes cluster in one program: `bed up` starts all parts, each of
// them this program again with the part's name and its own command line.
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
		fmt.Fprintln(os.Stderr, "expected: bed up|etcd|apiserver|scheduler|controllers [FLAGS]")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	switch part {
	case "up":
		if err := up(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bed: "+err.Error())
			os.Exit(1)
		}
	case "etcd":
		etcdmain.Main(os.Args)
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "expected up, etcd, apiserver, scheduler or controllers, found %q\n", part)
		os.Exit(2)
	}
}
