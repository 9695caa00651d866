// SPDX-License-Identifier: Apache-2.0

// Launchers plays the launcher pods of a KubeVirt node: each a server of grpc-go, as KubeVirt's is, on
// a unix socket at its place below a folder of pods. It says on standard output when all listen, takes
// commands on standard input, and ends with it.
//
// `launchers kubevirt` plays all of KubeVirt that a cluster of tests/bed needs, launchers among it: it is
// here and not in the bed because virt-handler's part and the launchers are two ends of one story, and so
// that a change of it does not build a control plane anew.
//
// `launchers guest` is the launcher of one guest that libvirt really runs; `launchers ask METHOD` calls one.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	parts := map[string]func([]string) error{"kubevirt": kubevirt, "guest": realGuest, "ask": ask}
	if len(os.Args) > 1 && parts[os.Args[1]] != nil {
		if err := parts[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
			os.Exit(1)
		}
		return
	}
	pods := flag.String("pods", "", "folder of pods; must be there")
	count := flag.Int("count", 1, "how many launchers")
	space := flag.String("namespace", "shop", "namespace of their VMIs; they are called vm-0, vm-1, …")
	domain := flag.String("domain", "", "file with the answer of a GetDomain to begin with")
	flag.Parse()
	if err := run(*pods, *count, *space, *domain); err != nil {
		fmt.Fprintln(os.Stderr, "launchers:", err)
		os.Exit(1)
	}
}

func run(pods string, count int, space, domain string) error {
	launchers := make([]*launcher, 0, count)
	names := make([]string, 0, count)
	for number := range count {
		text, err := firstDomain(domain, space, number)
		if err != nil {
			return err
		}
		started, err := start(pods, podUID(number), text)
		if err != nil {
			return err
		}
		launchers = append(launchers, started)
		names = append(names, podUID(number))
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"pods": names}); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := obey(launchers, strings.Fields(lines.Text())); err != nil {
			return err
		}
		fmt.Println("done", lines.Text())
	}
	return lines.Err()
}

// Commands: `status N STATUS REASON`, `mark N`, `big N BYTES`, `hang N`, `go N`, `stop N`.
func obey(launchers []*launcher, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("expected a command and the number of a launcher, found %q", words)
	}
	number, err := strconv.Atoi(words[1])
	if err != nil || number < 0 || number >= len(launchers) {
		return fmt.Errorf("expected the number of a launcher, found %q", words[1])
	}
	one := launchers[number]
	switch {
	case words[0] == "status" && len(words) == 4:
		return one.setStatus(words[2], words[3])
	case words[0] == "mark":
		return one.mark()
	case words[0] == "big" && len(words) == 3:
		size, err := strconv.Atoi(words[2])
		one.say(strings.Repeat("x", size))
		return err
	case words[0] == "hang":
		one.hang(true)
	case words[0] == "go":
		one.hang(false)
	case words[0] == "stop":
		return one.stop()
	default:
		return fmt.Errorf("unknown command %q", words)
	}
	return nil
}

func podUID(number int) string {
	return fmt.Sprintf("0b6c7d1e-1111-4222-8333-%012d", number)
}
