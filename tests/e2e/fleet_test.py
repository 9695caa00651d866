#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the cluster mode does for a fleet of three kinds of hosts: level labels, first placement, what an agent reports,
what users are answered, and what of it outlives its processes. Real control plane with its own scheduler; nodes are as
KubeVirt's labeller would leave them, KubeVirt is played. Each test goes on from where the one before left the cluster.

usage: fleet_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import http.client
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections import Counter
from datetime import datetime, timezone

from cluster import OURS, ROOT, SPACE, ClusterTest, Lines, Service, vmis
from daemons import CAN, CANNOT, ERROR
from stories import run_stories

NODES = "/api/v1/nodes"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
CONFIG = "/apis/virt-scout.io/v1alpha1/scoutconfigs/default"
PROFILES = "/apis/virt-scout.io/v1alpha1/cpuprofiles"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.query.virt-scout.io"
QUESTIONS = "/apis/query.virt-scout.io/v1alpha1"
LEVEL = "kubevirt/host-model-migratability-level"
PROFILE = "virt-scout.io/cpu-profile"
# Where a host-model guest of each kind of host can go.
GOES_TO = {"intel-skylake": {"intel-skylake", "intel-icelake"}, "intel-icelake": {"intel-icelake"},
           "amd-epyc": {"amd-epyc"}}
NEXT_LEADS = 20  # seconds after the leader was killed, at most
REPORTER = "intel-skylake-1"  # has the agent


def levels_among(kinds):
    """The label of each node, by its kind: of 100 other nodes those that it can go to, rounded down."""
    return {node: str(100 * sum(kinds[other] in GOES_TO[kind] for other in kinds if other != node) // (len(kinds) - 1))
            for node, kind in kinds.items()}


def now():
    """As the audit log has it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def launcher(name, terms, labels=None, **spec):
    """A VM's launcher pod, as far as its placement goes."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"virt-launcher-{name}", "labels": {"kubevirt.io": "virt-launcher", **(labels or {})},
                         "annotations": {"kubevirt.io/domain": name}},
            "spec": {"serviceAccountName": "virt-scout-agent", "containers": [{"name": "compute", "image": "none"}],
                     "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                         "nodeSelectorTerms": [{"matchExpressions": terms}]}}}, **spec}}


class FleetTest(ClusterTest):
    kinds = {"intel-skylake-1": "intel-skylake", "intel-skylake-2": "intel-skylake", "intel-skylake-3": "intel-skylake",
             "intel-icelake-1": "intel-icelake", "intel-icelake-2": "intel-icelake", "amd-epyc-1": "amd-epyc"}
    nodes = tuple(kinds)
    hosts = {node: f"{kind}.xml" for node, kind in kinds.items()}
    agents = ()
    replicas = ("first", "second")
    scheduler = True
    config = {"levels": {"cordonedFor": "2s"}}

    @classmethod
    def prepare(cls):
        """The bed has no Services but those that are names: the API server reaches a replica through ours."""
        def any_replica():
            return next((cls.address_of(name, "https") for name in cls.replicas if name in cls.daemons), "")

        cls.service = Service(any_replica)
        cls.addClassCleanup(cls.service.close)
        cls.kubectl("patch", "mutatingwebhookconfiguration", "virt-scout-first", "-p", json.dumps({"webhooks": [
            {"name": "first.virt-scout.io",
             "clientConfig": {"service": None, "url": f"https://{cls.service.address}/first"}}]}))
        cls.kubectl("delete", "service", "-n", SPACE, "virt-scout-aggregator")
        cls.kubectl("create", "service", "externalname", "-n", SPACE, "virt-scout-aggregator",
                    "--external-name", "localhost")
        cls.kubectl("apply", "-k", ROOT / "daemonset/query-api")
        cls.api.merge(API_SERVICE, {"spec": {"service": {"port": int(cls.service.address.rsplit(":", 1)[1])}}})

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for space in ("shop", "vault"):
            cls.api.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
            cls.api.make(f"/api/v1/namespaces/{space}/serviceaccounts", {
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
            cls.api.make(vmis(space), {
                "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "web"},
                "spec": {"domain": {"devices": {}, "cpu": {"model": "host-model"}, "memory": {"guest": "64Mi"}}},
                "status": {"phase": "Running", "nodeName": "intel-skylake-2",
                           "conditions": [{"type": "LiveMigratable", "status": "True"}]}})

    @classmethod
    def levels(cls):
        return {each["metadata"]["name"]: each["metadata"]["labels"].get(LEVEL) for each in cls.api.get(NODES)["items"]}

    def expect_levels(self, kinds, without=()):
        """Sooner or later, those of these nodes and none on the others."""
        wanted = levels_among(kinds) | dict.fromkeys(without)
        try:
            self.until(lambda: self.levels() == wanted, 30)
        except AssertionError:
            self.assertEqual(self.levels(), wanted)

    def expect_patched(self, nodes, since=""):
        """Node objects by our accounts: these and no other, each once."""
        def patches():
            return [one for one in self.calls("") if one["requestReceivedTimestamp"] > since and
                    (one["verb"], one["objectRef"]["resource"]) == ("patch", "nodes")]

        self.until(lambda: len(patches()) >= len(nodes))
        self.assertEqual(Counter((one["objectRef"]["name"], one["user"]["username"], one["responseStatus"]["code"])
                                 for one in patches()),
                         Counter((node, f"{OURS}virt-scout-aggregator", 200) for node in nodes))

    def cordon(self, node):
        self.kubectl("cordon", node)
        self.expect_levels({each: kind for each, kind in self.kinds.items() if each != node}, without=[node])

    def uncordon(self, node):
        self.kubectl("uncordon", node)
        self.expect_levels(self.kinds)

    def relabel(self, node, before, after):
        """What the labeller does after the host became another one."""
        gone = dict.fromkeys(self.labels_of(f"{before}.xml"))
        self.api.merge(f"{NODES}/{node}", {"metadata": {"labels": gone | self.labels_of(f"{after}.xml")}})
        return self.kinds | {node: after}

    def run_scoutctl(self, *words, kubeconfig=None):
        return subprocess.run([self.bin / "scoutctl", *words, "--kubeconfig", kubeconfig or self.kubeconfig],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def scoutctl(self, *words, code=CAN, kubeconfig=None):
        """What it prints, or says on stderr where it fails."""
        done = self.run_scoutctl(*words, kubeconfig=kubeconfig)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr if code == ERROR else done.stdout

    def answers(self):
        """Of the aggregators, to whoever may ask everything."""
        for path in ("nodes", "namespaces/shop/virtualmachineinstances/web/where"):
            self.until(lambda: self.api.call("GET", f"{QUESTIONS}/{path}")[0] == 200)
        return {words: json.loads(self.scoutctl(*words, "--aggregator", "kube:", "-o", "json"))
                for words in (("nodes",), ("matrix",), ("where", "shop/web"), ("where", f"host-model@{REPORTER}"))}

    def test_1_levels_follow_the_nodes(self):
        self.expect_levels(self.kinds)
        self.assertEqual(self.levels(), {
            "intel-skylake-1": "80", "intel-skylake-2": "80", "intel-skylake-3": "80",
            "intel-icelake-1": "20", "intel-icelake-2": "20", "amd-epyc-1": "0"})
        self.expect_patched(self.nodes)

        self.make_node("amd-epyc-2", "amd-epyc.xml")
        self.expect_levels(self.kinds | {"amd-epyc-2": "amd-epyc"})
        self.api.call("DELETE", f"{NODES}/amd-epyc-2")
        self.expect_levels(self.kinds)

        self.cordon("intel-icelake-1")
        self.uncordon("intel-icelake-1")

        since = now()
        self.expect_levels(self.relabel("intel-skylake-3", "intel-skylake", "intel-icelake"))
        self.expect_patched(["intel-skylake-3", "intel-icelake-1", "intel-icelake-2"], since)
        self.relabel("intel-skylake-3", "intel-icelake", "intel-skylake")
        self.expect_levels(self.kinds)

    @classmethod
    def affinity_of(cls, pod):
        """As the API server would make it."""
        return cls.api.make(f"{PODS}?dryRun=All", pod)["spec"]["affinity"]

    def test_2_first_launchers_start_where_the_level_is_high(self):
        host_model = {"key": "node-labeller.kubevirt.io/obsolete-host-model", "operator": "DoesNotExist"}
        demand = {"key": LEVEL, "operator": "Gt", "values": ["49"]}
        demanded = launcher("try", [host_model, demand])["spec"]["affinity"]
        self.api.merge(CONFIG, {"spec": {"placement": {"requireHostModelMigratabilityLevel": 50}}})
        self.until(lambda: self.affinity_of(launcher("try", [host_model])) == demanded)
        for name in ("a", "b", "c"):
            path = f"{PODS}/virt-launcher-{name}"
            self.api.make(PODS, launcher(name, [host_model]))
            self.until(lambda: self.api.get(path)["spec"].get("nodeName"))
            self.assertEqual(self.kinds[self.api.get(path)["spec"]["nodeName"]], "intel-skylake")

        schedulable = {"key": "kubevirt.io/schedulable", "operator": "In", "values": ["true"]}
        for pod in (launcher("named", [schedulable], nodeSelector={"cpu-model.node.kubevirt.io/Nehalem": "true"}),
                    launcher("target", [host_model], labels={"kubevirt.io/migrationJobUID": "1"})):
            self.assertEqual(self.affinity_of(pod), pod["spec"]["affinity"])

    def test_3_what_an_agent_reports_is_kept(self):
        folder = self.state / "labeller"
        folder.mkdir()
        shutil.copy(ROOT / "samples" / self.hosts[REPORTER], folder / "virsh_domcapabilities.xml")
        since = now()
        self.start_agent(REPORTER, f"--labeller-dir={folder}")
        path = f"{NODES}/{REPORTER}"
        self.until(lambda: PROFILE in self.api.get(path)["metadata"].get("annotations", {}))
        node = self.api.get(path)["metadata"]
        profiles = [each["metadata"]["name"] for each in self.api.get(PROFILES)["items"]]
        self.assertEqual(profiles, [node["annotations"][PROFILE]])
        self.assertEqual(node["labels"][LEVEL], "80")
        ours = [each["fieldsV1"]["f:metadata"] for each in node["managedFields"] if each["manager"] == "virt-scout"]
        self.assertEqual([set(each) for each in ours], [{"f:labels", "f:annotations"}])
        self.expect_patched([REPORTER], since)
        asked = {(one["user"]["username"].removeprefix(OURS), one["objectRef"]["resource"]) for one in self.calls("")}
        self.assertIn(("virt-scout-aggregator", "tokenreviews"), asked)
        self.assertNotIn("virt-scout-agent", {account for account, _ in asked})
        self.assertEqual(json.loads(self.scoutctl("node", REPORTER, "--live", "-o", "json"))["source"], "profile")
        self.expect_metrics_as(REPORTER)

    def expect_metrics_as(self, node):
        """Who trusts our authority alone, and expects the node's name, is served them."""
        def address():
            return re.search(r"address=127\.0\.0\.1:(\d+) tls=true", self.whole_log_of(node))

        self.until(address)
        trust = ssl.create_default_context(cafile=self.state / "ca.crt")
        with (socket.create_connection(("127.0.0.1", int(address()[1])), timeout=10) as plain,
              trust.wrap_socket(plain, server_hostname=node) as tls):
            self.assertEqual(tls.getpeercert()["subjectAltName"], (("DNS", node),))
            asked = http.client.HTTPConnection(node)
            asked.sock = tls
            asked.request("GET", "/metrics")
            told = asked.getresponse().read().decode()
            self.assertIn("\nvirt_scout_agent_serving_certificate_expires_seconds ", told)

    @classmethod
    def account(cls, name):
        """A kubeconfig of a new account."""
        cls.api.make(f"/api/v1/namespaces/{SPACE}/serviceaccounts", {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
        return cls.kubeconfig_of(name, name)

    @classmethod
    def gather_view(cls):
        """As the cluster's controller does, which is not here: `view` has the rules of all roles that are labelled for
        it, KubeVirt's own among them."""
        label = "rbac.authorization.k8s.io/aggregate-to-view"
        cls.api.make(ROLES, {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "kubevirt.io:view", "labels": {label: "true"}}, "rules": [
                {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["get", "list"]}]})
        roles = cls.api.get(f"{ROLES}?labelSelector={label}=true")["items"]
        cls.api.merge(f"{ROLES}/view", {"rules": [rule for role in roles for rule in role["rules"]]})

    def test_4_users_are_answered_as_far_as_they_may_ask(self):
        answers = self.answers()
        for each, name in ((answers["nodes",], "node"), (answers["matrix",], "name")):
            self.assertEqual({node[name]: str(node["level"]) for node in each["nodes"]}, levels_among(self.kinds))
        intel = {node for node, kind in self.kinds.items() if kind != "amd-epyc"}
        for source, guest in (("intel-skylake-2", "shop/web"), (REPORTER, f"host-model@{REPORTER}")):
            where = answers["where", guest]["nodes"]
            self.assertEqual({each["node"] for each in where if each["verdict"] == "can"}, intel - {source})
        why_not = ("why-not", f"host-model@{REPORTER}", "amd-epyc-1", "--aggregator", "kube:")
        self.assertIn("the guest's CPU vendor is Intel, the target's is AMD", self.scoutctl(*why_not, code=CANNOT))

        stranger = self.account("stranger")
        for words, right in ((("nodes",), 'cannot list resource "nodes" in API group "query.virt-scout.io"'),
                             (("where", "shop/web"), 'cannot get resource "virtualmachineinstances/where"')):
            said = self.scoutctl(*words, "--aggregator", "kube:", kubeconfig=stranger, code=ERROR)
            self.assertIn("HTTP 403", said)
            self.assertIn(right, said)

        viewer = self.account("viewer")
        self.gather_view()
        self.kubectl("create", "rolebinding", "-n", "shop", "viewer", "--clusterrole=view",
                     f"--serviceaccount={SPACE}:viewer")
        # The API server hears of rights a moment later.
        question = ("where", "shop/web", "--aggregator", "kube:")
        self.until(lambda: self.run_scoutctl(*question, kubeconfig=viewer).returncode == CAN)
        where = self.scoutctl(*question, kubeconfig=viewer)
        self.assertIn("can go to 4 of 5 nodes", where)
        self.assertNotRegex(where, "|".join(self.nodes), "who may not list nodes is not told their names")
        said = self.scoutctl("where", "vault/web", "--aggregator", "kube:", kubeconfig=viewer, code=ERROR)
        self.assertIn('cannot get resource "virtualmachineinstances/where" in API group "query.virt-scout.io" in the '
                      'namespace "vault"', said)

    def test_5_a_dump_says_what_the_cluster_says(self):
        self.cordon("intel-icelake-2")
        self.addCleanup(self.uncordon, "intel-icelake-2")
        dump = self.state / "dump.yaml"
        dump.write_text(self.kubectl("get", "nodes,kubevirts,vmis,pods,scoutconfigs,cpuprofiles", "-A", "-o", "yaml"))
        for words, code in ((("nodes",), CAN), (("node", REPORTER), CAN), (("matrix",), CAN),
                            (("where", "shop/web"), CAN),
                            (("why-not", "shop/web", "amd-epyc-1"), CANNOT),
                            (("why-not", "shop/web", "intel-icelake-1"), CAN), (("baseline",), CAN),
                            (("labels", "--check"), CAN)):
            live, dumped = (json.loads(self.scoutctl(*words, *source, "-o", "json", code=code))
                            for source in (("--live",), ("--from", str(dump))))
            with self.subTest(words):
                self.assertEqual(live, dumped)

    def test_6_a_watch_tells_each_change(self):
        watch = Lines(subprocess.Popen([self.bin / "scoutctl", "debug", "watch", "nodes", "-o", "json", "--kubeconfig",
                                        self.kubeconfig], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True))
        self.addCleanup(watch.process.stdout.close)
        self.addCleanup(watch.process.wait)
        self.addCleanup(watch.process.terminate)
        watch.wait(lambda line: '"synced"' in line)
        nodes = {each["metadata"]["name"]: each["metadata"] for each in self.api.get(NODES)["items"]}

        def told(event, node, found_by, objects):
            return {"schema": 1, "event": event, "kind": "nodes", "namespace": None, "name": node and node["name"],
                    "uid": node and node["uid"], "resourceVersion": node and node["resourceVersion"],
                    "foundBy": found_by, "objects": objects}

        lines = [json.loads(line) for line in watch.all[:len(nodes) + 1]]
        self.assertEqual(lines, [told("add", nodes[name], "list", number)
                                 for number, name in enumerate(sorted(nodes), 1)] +
                         [told("synced", None, None, len(nodes))])
        path = f"{NODES}/watched"
        self.make_node("watched")
        wanted = [told("add", self.api.get(path)["metadata"], "watch", len(nodes) + 1)]
        self.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        wanted.append(told("update", self.api.get(path)["metadata"], "watch", len(nodes) + 1))
        self.api.call("DELETE", path)
        watch.wait(lambda line: '"delete"' in line)
        seen = [one for one in map(json.loads, watch.all) if one["name"] == "watched"]
        self.assertEqual(seen[:-1], wanted)
        # Of one that is gone as it was last known.
        self.assertEqual(seen[-1], wanted[-1] | {"event": "delete", "objects": len(nodes)})

    def test_7_another_replica_leads_after_the_first_was_killed(self):
        since, killed, begun = now(), self.leader(), time.monotonic()
        self.stop(killed, signal.SIGKILL)
        kinds = self.relabel("intel-skylake-3", "intel-skylake", "intel-icelake")
        self.until(self.leader, NEXT_LEADS)
        print(f"{self.leader()} leads {time.monotonic() - begun:.1f} s after {killed} was killed")
        self.assertLess(time.monotonic() - begun, NEXT_LEADS)
        self.expect_levels(kinds)
        self.expect_patched(["intel-skylake-3", "intel-icelake-1", "intel-icelake-2"], since)

    def test_8_a_restart_of_all_changes_nothing(self):
        answers, levels, since = self.answers(), self.levels(), now()
        node = self.api.get(f"{NODES}/{REPORTER}")["metadata"]
        for name in list(self.daemons):
            self.assertEqual(self.stop(name)[1], 0, name)
        type(self).replicas = ("third",)
        self.start_replica("third")
        self.until(self.leader)
        self.assertEqual(self.answers(), answers)
        self.assertEqual(self.levels(), levels)
        self.assertEqual(self.api.get(f"{NODES}/{REPORTER}")["metadata"], node)
        # It does write: what somebody else takes away comes again, and nothing else was to be written.
        self.api.merge(f"{NODES}/amd-epyc-1", {"metadata": {"labels": {LEVEL: None}}})
        self.until(lambda: self.levels() == levels)
        self.expect_patched(["amd-epyc-1"], since)


if __name__ == "__main__":
    run_stories(__doc__)
