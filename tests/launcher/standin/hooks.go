// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	hookFolder    = "/var/run/kubevirt/plugins/" // as virt-handler sees it; here a folder of the node
	hookDialLimit = 2 * time.Second
	hookLimit     = 30 * time.Second
)

// hooks calls the node hooks of all Plugin objects (dossier §3.4).
type hooks struct {
	cluster    *cluster
	journal    *journal
	conditions *conditions
	node       string
	folder     string
}

type hook struct {
	plugin, socket, strategy string
	limit                    time.Duration
}

// call asks every hook of this point whose condition holds, in the order of the plugins' names. The first
// failure of one that must not fail ends it.
func (h *hooks) call(ctx context.Context, point string, vmi object) error {
	matching, err := h.matching(point, vmi)
	if err != nil {
		h.journal.tell(happening{Event: "hook-condition-failed", VMI: keyOf(vmi), Node: h.node, Text: err.Error()})
		return err
	}
	for _, each := range matching {
		begun := time.Now()
		err := h.ask(ctx, each, point, vmi)
		told := happening{Event: "hook", VMI: keyOf(vmi), Node: h.node, Object: each.plugin, By: point,
			Answer: "allow", Took: float64(time.Since(begun).Microseconds()) / 1000}
		if err != nil {
			told.Answer, told.Text = "veto", err.Error()
		}
		h.journal.tell(told)
		if err != nil && each.strategy != "Ignore" {
			return fmt.Errorf("node hook %s from plugin %s failed: %w", point, each.plugin, err)
		}
	}
	return nil
}

func (h *hooks) matching(point string, vmi object) ([]hook, error) {
	var found []hook
	for _, plugin := range h.cluster.all(plugins) {
		for _, each := range listOf(plugin, "spec", "nodeHooks") {
			one, _ := each.(object)
			permitted := false
			for _, name := range listOf(one, "permittedHooks") {
				permitted = permitted || name == point
			}
			if !permitted {
				continue
			}
			// A condition that cannot be evaluated ends it for all, whatever the hook's strategy.
			holds, err := h.conditions.holds(textOf(one, "condition"), vmi)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: %w", textOf(plugin, "metadata", "name"), err)
			}
			if holds {
				limit, _ := time.ParseDuration(textOf(one, "timeout"))
				if limit <= 0 {
					limit = hookLimit
				}
				found = append(found, hook{textOf(plugin, "metadata", "name"), textOf(one, "socket"),
					textOf(one, "failureStrategy"), limit})
			}
		}
	}
	sort.SliceStable(found, func(a, b int) bool { return found[a].plugin < found[b].plugin })
	return found, nil
}

// ask makes a new connection for one call, as virt-handler does.
func (h *hooks) ask(ctx context.Context, one hook, point string, vmi object) error {
	link, err := dial(filepath.Join(h.folder, strings.TrimPrefix(one.socket, hookFolder)))
	if err != nil {
		return err
	}
	defer link.Close()
	dialling, cancel := context.WithTimeout(ctx, hookDialLimit)
	defer cancel()
	link.Connect()
	for state := link.GetState(); state != connectivity.Ready; state = link.GetState() {
		if !link.WaitForStateChange(dialling, state) {
			return fmt.Errorf("failed to dial plugin socket %s: %w", one.socket, dialling.Err())
		}
	}
	payload := copied(vmi)
	delete(payload, "kind")
	delete(payload, "apiVersion")
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	request := field(nil, 1, []byte(point))
	request = field(request, 2, text)
	request = field(request, 3, field(nil, 1, []byte(h.node)))
	calling, cancel := context.WithTimeout(ctx, one.limit)
	defer cancel()
	var answer []byte
	err = link.Invoke(calling, "/kubevirt.hooks.plugins.v1alpha1.NodeHookService/ExecuteNodeHook", &request, &answer)
	if err != nil {
		said := status.Convert(err)
		return fmt.Errorf("node hook %s failed with %s: %s", point, said.Code(), said.Message())
	}
	return nil
}

// field appends one of type bytes.
func field(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}
