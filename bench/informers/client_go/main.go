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

const usage = `usage: informers --kubeconfig FILE [FLAGS] default|stripped|metadata|cluster|
    fill|touch|guests|levels|admission
  default, stripped, metadata: watches nodes; says "synced" with the first list, "updated" after
      --updates changes, and ends with its standard input
  cluster: the same of nodes, launcher pods and VMIs, stripped
  fill: makes --nodes nodes of --bytes each, with labels of the --labels files in turn
  touch: changes nodes --updates times
  guests: makes --vmis VMIs and --pods launcher pods on --nodes nodes, after those of a --dump,
      most of them straight into --etcd
  levels: says "right" once the level labels of nodes as fill made them are what --reach of the
      --labels files says; then changes --updates nodes, and says of each how long it took in seconds
      until that was seen, and until labels were right again
  admission: asks an aggregator at --url about a pod that guests made, about a migration that it makes
      and its target pod, and for nothing, 200 times in a second; says of each the median and the 99th
      percentile in seconds
`

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the API server")
	nodes := flag.Int("nodes", 5000, "how many there are, or are to be")
	bytes := flag.Int("bytes", 55000, "of a node as JSON, as the server sends it")
	labels := flag.String("labels", "", "files with key=value lines, parted by commas")
	updates := flag.Int("updates", 1000, "changes to wait for, or to make")
	vmis := flag.Int("vmis", 100000, "to make")
	pods := flag.Int("pods", 20000, "to make")
	dump := flag.String("dump", "", "a folder with virtualmachineinstances.json and pods.json")
	etcd := flag.String("etcd", "", "URL of the API server's store")
	reach := flag.String("reach", "", "for each file of labels those that its guests can go to, as 0,1;1;2")
	url := flag.String("url", "", "of the aggregator's HTTPS")
	authority := flag.String("authority", "", "of its certificate")
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
		case "guests":
			err = fillGuests(config, *dump, *etcd, *nodes, *vmis, *pods)
		case "levels":
			err = watchLevels(config, *nodes, *updates, strings.Split(*labels, ","), *reach)
		case "admission":
			err = askAdmission(config, *url, *authority)
		case "cluster":
			err = watchCluster(config)
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
