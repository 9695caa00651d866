// SPDX-License-Identifier: Apache-2.0

// Informers is what our informer of nodes is measured beside: informers of client-go, each a process
// of its own, and the nodes that all of them watch.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const usage = `usage: informers --kubeconfig FILE [FLAGS] default|stripped|metadata|fill|touch
  default, stripped, metadata: watches nodes; says "synced" with the first list, "updated" after
      --updates changes, and ends with its standard input
  fill: makes --nodes nodes of --bytes each, with labels of the --labels files in turn
  touch: changes nodes --updates times
`

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the API server")
	nodes := flag.Int("nodes", 5000, "how many there are, or are to be")
	bytes := flag.Int("bytes", 55000, "of a node as JSON, as the server sends it")
	labels := flag.String("labels", "", "files with key=value lines, parted by commas")
	updates := flag.Int("updates", 1000, "changes to wait for, or to make")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		config.QPS = -1
		switch mode := flag.Arg(0); mode {
		case "fill":
			err = fill(config, *nodes, *bytes, strings.Split(*labels, ","))
		case "touch":
			err = touch(config, *nodes, *updates)
		default:
			err = watch(config, mode, int64(*updates))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "informers: "+err.Error())
		os.Exit(1)
	}
}

func watch(config *rest.Config, mode string, updates int64) error {
	informer, err := newInformer(config, mode)
	if err != nil {
		return err
	}
	if err := speak(informer, updates); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
