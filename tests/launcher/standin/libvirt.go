// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const virshLimit = 20 * time.Second

// virsh runs one of its command lines, which may hold several commands.
func virsh(uri, line string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), virshLimit)
	defer stop()
	command := exec.CommandContext(ctx, "virsh", "--quiet", "--connect", uri, line)
	command.Env = append(command.Environ(), "LC_ALL=C")
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(out), fmt.Errorf("virsh %s: %s", line, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}

// What libvirt knows of a domain in one moment.
type snapshot struct {
	state, reason string            // in virsh's words; empty: no domain of that name
	xml           string            // live
	job           map[string]uint64 // of a migration under way
	stats         map[string]string
}

var stateLine = regexp.MustCompile(`^(.+) \((.+)\)$`)

// A domain that is not there is no error. Without waiting for what else goes on, as it is on the target of a
// migration until that has ended.
func look(uri, name string) (snapshot, error) {
	out, err := virsh(uri, strings.ReplaceAll("domstate NAME --reason; echo ---; dumpxml NAME; echo ---; "+
		"domjobinfo NAME --rawstats --anystats; echo ---; domstats NAME --nowait", "NAME", name))
	parts := strings.Split(out, "---")
	if len(parts) != 4 {
		return snapshot{}, err
	}
	state := strings.TrimSpace(parts[0])
	if state == "" {
		if err != nil && !strings.Contains(err.Error(), "failed to get domain") {
			return snapshot{}, err
		}
		return snapshot{}, nil
	}
	// A domain that does not run has no job, which is told as an error.
	seen := snapshot{state: state, xml: parts[1], job: map[string]uint64{}, stats: map[string]string{}}
	if found := stateLine.FindStringSubmatch(state); found != nil {
		seen.state, seen.reason = found[1], found[2]
	}
	for line := range strings.Lines(parts[2]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			seen.job[key] = number
		}
	}
	for line := range strings.Lines(parts[3]) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			seen.stats[key] = value
		}
	}
	return seen, nil
}

// Codes of libvirt's virDomainJobType and virDomainJobOperation.
const (
	jobBounded, jobUnbounded = 1, 2
	operationMigrationOut    = 5
)

func (seen snapshot) migrates() bool {
	kind := seen.job["Job type"]
	return (kind == jobBounded || kind == jobUnbounded) && seen.job["operation"] == operationMigrationOut
}

// There is a QEMU process of it here.
func (seen snapshot) alive() bool {
	return seen.state != "" && seen.state != "shut off" && seen.state != "crashed"
}

// So far there is only room for a guest that runs elsewhere.
func (seen snapshot) comes() bool {
	return seen.state == "paused" && (seen.reason == "migrating" || seen.reason == "starting up")
}

// MiB per second, measured for one second.
func dirtyRate(uri, name string) (int64, error) {
	if _, err := virsh(uri, "domdirtyrate-calc "+name+" --seconds 1"); err != nil {
		return 0, err
	}
	for range 20 {
		time.Sleep(200 * time.Millisecond)
		seen, err := look(uri, name)
		if err != nil {
			return 0, err
		}
		if seen.stats["dirtyrate.calc_status"] == "2" {
			return strconv.ParseInt(seen.stats["dirtyrate.megabytes_per_second"], 10, 64)
		}
	}
	return 0, errors.New("libvirt has measured no dirty rate")
}
