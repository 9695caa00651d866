// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const refusal = `admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: `

var dryRun = object{"deleteOptions": object{"dryRun": []any{"All"}}}

func TestAnEvictionIsDecidedByStrategyAndMigratability(t *testing.T) {
	s := newScene(t)
	for name, each := range map[string]struct {
		strategy, migratable string
		code                 int32
		text                 string
	}{
		"none":                     {"None", "True", 201, ""},
		"unset":                    {"", "True", 201, ""},
		"live":                     {"LiveMigrate", "True", 429, `Eviction triggered evacuation of VMI "SPACE/live"`},
		"live-not":                 {"LiveMigrate", "False", 429, "VMI live-not is configured with an eviction strategy but is not live-migratable"},
		"if-possible":              {"LiveMigrateIfPossible", "True", 429, `Eviction triggered evacuation of VMI "SPACE/if-possible"`},
		"if-possible-not":          {"LiveMigrateIfPossible", "False", 201, ""},
		"external":                 {"External", "True", 429, `Eviction triggered evacuation of VMI "SPACE/external"`},
		"external-not":             {"External", "False", 429, `Eviction triggered evacuation of VMI "SPACE/external-not"`},
		"unset-and-not-migratable": {"", "False", 201, ""},
	} {
		s.vmi(name, each.strategy, each.migratable, nil)
		code, text := s.evict(textOf(s.pod(name), "metadata", "name"), dryRun)
		wanted := strings.ReplaceAll(each.text, "SPACE", s.space)
		if wanted != "" {
			wanted = refusal + wanted
		}
		if code != each.code || text != wanted {
			t.Errorf("%s: expected %d %q, found %d %q", name, each.code, wanted, code, text)
		}
		if marked := textOf(s.read(name), "status", "evacuationNodeName"); marked != "" {
			t.Errorf("%s: a dry run marked it for %s", name, marked)
		}
	}
}

func TestAnEvictionMarksOnceAndSaysSoAgain(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "External", "True", nil)
	pod := textOf(s.pod("vm"), "metadata", "name")
	triggered := `Eviction triggered evacuation of VMI "` + s.space + `/vm"`
	for _, each := range []struct {
		more object
		text string
	}{{dryRun, triggered}, {nil, triggered}, {nil, "Evacuation in progress: " + triggered}, {dryRun, "Evacuation in progress: " + triggered}} {
		if code, text := s.evict(pod, each.more); code != 429 || text != refusal+each.text {
			t.Errorf("expected 429 %q, found %d %q", each.text, code, text)
		}
	}
	if marked := textOf(s.read("vm"), "status", "evacuationNodeName"); marked != s.source {
		t.Errorf("expected the mark %s, found %q", s.source, marked)
	}
	if moves := s.moves("vm"); len(moves) != 0 {
		t.Errorf("expected no migration of an External VMI, found %d", len(moves))
	}
}

func TestAPodThatFailedIsReallyEvicted(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", nil)
	name := textOf(s.pod("vm"), "metadata", "name")
	err := s.cluster.change(s.ctx, s.cluster.admin, pods, s.space+"/"+name, "status", func(pod object) bool {
		set(pod, "Failed", "status", "phase")
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, text := s.evict(name, dryRun); code != 201 {
		t.Errorf("expected 201, found %d %q", code, text)
	}
}

func TestTheDeschedulersMarkLowersThePriority(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{"some": "thing"})
	pod := textOf(s.pod("vm"), "metadata", "name")
	s.evict(pod, object{"metadata": object{"name": pod, "namespace": s.space,
		"annotations": object{"requested-by": "sigs.k8s.io/descheduler"}}})
	s.until("there is a migration", func() bool { return len(s.moves("vm")) == 1 })
	if priority := textOf(s.moves("vm")[0], "spec", "priority"); priority != "system-maintenance" {
		t.Errorf("expected system-maintenance, found %q", priority)
	}
}

func TestWhatOthersWriteOfAVMI(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", nil)
	for patch, code := range map[string]int32{
		`{"status":{"evacuationNodeName":"x"}}`:                       201, // and undone
		`{"metadata":{"annotations":{"virt-scout.io/released":"x"}}}`: 201,
		`{"metadata":{"labels":{"app":"x"}}}`:                         201,
		`{"metadata":{"labels":{"kubevirt.io/nodeName":"x"}}}`:        422,
		`{"metadata":{"labels":{"kubevirt.io/migrationJobUID":"x"}}}`: 422,
		`{"spec":{"evictionStrategy":"None"}}`:                        422,
	} {
		if found, text := codeOf(s, s.merge(vmis, "vm", patch)); found != code {
			t.Errorf("%s: expected %d, found %d %q", patch, code, found, text)
		}
	}
	if marked := textOf(s.read("vm"), "status", "evacuationNodeName"); marked != "" {
		t.Errorf("expected the stamp to be undone, found %q", marked)
	}
	if annotationOf(s.read("vm"), "virt-scout.io/released") != "x" {
		t.Error("expected the annotation to stay")
	}
}

func TestWhatOthersMakeOfMigrations(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "LiveMigrate", "True", object{failKey: "schedule"})
	s.vmi("fixed", "LiveMigrate", "False", nil)
	refused := func(one object, code int32) {
		t.Helper()
		_, err := s.cluster.admin.Resource(moves).Namespace(s.space).Create(s.ctx,
			&unstructured.Unstructured{Object: one}, metav1.CreateOptions{})
		if found, text := codeOf(s, err); found != code {
			t.Errorf("expected %d, found %d %q", code, found, text)
		}
	}
	first := s.move("vm")
	set(first, "system-critical", "spec", "priority")
	refused(first, 422)
	refused(s.move("fixed"), 400)
	refused(s.move("absent"), 400)
	refused(s.move("vm"), 201)
	refused(s.move("vm"), 400)
	made := s.moves("vm")[0]
	if labelOf(made, "kubevirt.io/vmi-name") != "vm" || len(listOf(made, "metadata", "finalizers")) != 1 {
		t.Errorf("expected label and finalizer, found %v", made["metadata"])
	}
	name := textOf(made, "metadata", "name")
	if code, _ := codeOf(s, s.merge(moves, name, `{"spec":{"vmiName":"other"}}`)); code != 422 {
		t.Errorf("expected 422 of a spec that changes, found %d", code)
	}
	if code, _ := codeOf(s, s.merge(moves, name, `{"metadata":{"annotations":{"a":"b"}}}`)); code != 201 {
		t.Errorf("expected annotations to be free, found %d", code)
	}
}

// cancel gives the code of an evacuate/cancel.
func (s *scene) cancel(name, body, accept string, as ...string) int {
	s.Helper()
	client, err := s.cluster.web()
	if err != nil {
		s.Fatal(err)
	}
	asked, err := http.NewRequestWithContext(s.ctx, http.MethodPut, s.cluster.config.Host+
		"/apis/subresources.kubevirt.io/v1/namespaces/"+s.space+"/virtualmachineinstances/"+name+"/evacuate/cancel",
		strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	asked.Header.Set("Content-Type", "application/json")
	if accept != "" {
		asked.Header.Set("Accept", accept)
	}
	for _, user := range as {
		asked.Header.Set("Impersonate-User", user)
	}
	answer, err := client.Do(asked)
	if err != nil {
		s.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestAMarkIsCancelledByWhoNamesItsNode(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "External", "True", nil)
	s.evict(textOf(s.pod("vm"), "metadata", "name"), nil)
	right := `{"evacuationNodeName":"` + s.source + `"}`
	for _, each := range []struct {
		body, accept string
		code         int
	}{{"", "", 500}, {`{"evacuationNodeName":"elsewhere"}`, "", 500}, {`{"dryRun":["All"]}`, "", 500},
		{right, "application/json", 406}, {`{"dryRun":["All"],"evacuationNodeName":"` + s.source + `"}`, "", 200},
		{right, "", 200}, {right, "", 500}} {
		marked := textOf(s.read("vm"), "status", "evacuationNodeName")
		if code := s.cancel("vm", each.body, each.accept); code != each.code {
			t.Errorf("%q (mark %q): expected %d, found %d", each.body, marked, each.code, code)
		}
	}
	if code := s.cancel("absent", right, ""); code != 404 {
		t.Errorf("expected 404 of what is not there, found %d", code)
	}
	if marked := textOf(s.read("vm"), "status", "evacuationNodeName"); marked != "" {
		t.Errorf("expected no mark, found %q", marked)
	}
}

func TestACancelNeedsBothRights(t *testing.T) {
	s := newScene(t)
	s.vmi("vm", "External", "True", nil)
	for user, each := range map[string]struct {
		resources []any
		code      int
	}{
		s.space + "-first":  {[]any{"virtualmachineinstances/evacuate"}, 403},
		s.space + "-second": {[]any{"virtualmachineinstances/evacuate/cancel"}, 403},
		s.space + "-both":   {[]any{"virtualmachineinstances/evacuate", "virtualmachineinstances/evacuate/cancel"}, 500},
	} {
		group := "rbac.authorization.k8s.io"
		role, binding := pods, pods
		role.Group, role.Resource = group, "clusterroles"
		binding.Group, binding.Resource = group, "clusterrolebindings"
		s.create(role, "", object{"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": object{"name": user},
			"rules": []any{object{"apiGroups": []any{subresourceGroup}, "resources": each.resources, "verbs": []any{"update"}}}})
		s.create(binding, "", object{"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": user},
			"roleRef":  object{"apiGroup": group, "kind": "ClusterRole", "name": user},
			"subjects": []any{object{"apiGroup": group, "kind": "User", "name": user}}})
		s.until("the right is in force", func() bool { return s.cancel("vm", "", "", user) == each.code })
	}
}
