# SPDX-License-Identifier: Apache-2.0
"""A cluster for tests of the whole programs: the control plane of tests/bed, KubeVirt as tests/launcher/standin plays
it, and aggregators and agents started as daemonset/base says, under the accounts that it makes."""

import base64
import json
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from daemons import DaemonsTest

ROOT = Path(__file__).resolve().parents[2]
SPACE = "virt-scout"
OURS = f"system:serviceaccount:{SPACE}:"
AUDIT = f"""apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts:{SPACE}"]
  - level: None
"""


class Lines:
    """What a process prints, line by line, from a thread of its own."""

    def __init__(self, process):
        self.process = process
        self.all = []
        self.news = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.all.append(line)
                self.news.notify_all()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, wanted, since=0, seconds=90.0):
        """The first line from `since` on for which it is true."""
        limit = time.monotonic() + seconds
        at = since
        with self.news:
            while True:
                for line in self.all[at:]:
                    at += 1
                    if wanted(line):
                        return line
                left = limit - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and at == len(self.all)):
                    raise AssertionError(f"expected another line of {self.process.args[0]}; the last are\n" +
                                         "".join(self.all[-20:]))
                self.news.wait(min(left, 1.0))


class Service:
    """What the leader's Service is in a cluster: connections go to whoever is ready."""

    def __init__(self, find):
        self.find = find  # gives "HOST:PORT", or "" while nobody is
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.listener.close()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                host, port = self.find().rsplit(":", 1)
                far = socket.create_connection((host, int(port)), timeout=5)
            except (OSError, ValueError):
                near.close()
                continue
            far.settimeout(None)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        one.close()


class Api:
    """The API server as the user who may do everything."""

    def __init__(self, config, folder):
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        files = {"ca": cluster["certificate-authority-data"], "crt": user["client-certificate-data"],
                 "key": user["client-key-data"]}
        for name, text in files.items():
            (folder / f"admin.{name}").write_bytes(base64.b64decode(text))
        self.server = cluster["server"]
        self.trust = ssl.create_default_context(cafile=folder / "admin.ca")
        self.trust.load_cert_chain(folder / "admin.crt", folder / "admin.key")

    def call(self, method, path, body=None, kind="application/json"):
        """Status code and document."""
        asked = urllib.request.Request(self.server + path, method=method, headers={"Content-Type": kind},
                                       data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(asked, context=self.trust, timeout=20) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            return error.code, json.loads(text) if text.startswith("{") else {"message": text}

    def text(self, path):
        with urllib.request.urlopen(self.server + path, context=self.trust, timeout=20) as answer:
            return answer.read().decode()

    def get(self, path):
        """The document, or None where there is none."""
        code, document = self.call("GET", path)
        assert code in (200, 404), f"{path}: {code} {document}"
        return document if code == 200 else None

    def make(self, path, body):
        code, document = self.call("POST", path, body)
        assert code in (200, 201), f"{path}: {code} {document}"
        return document

    def merge(self, path, body):
        code, document = self.call("PATCH", path, body, "application/merge-patch+json")
        assert code == 200, f"{path}: {code} {document}"
        return document


def vmis(space, name=""):
    return f"/apis/kubevirt.io/v1/namespaces/{space}/virtualmachineinstances" + (f"/{name}" if name else "")


def moves(space, name=""):
    return (f"/apis/kubevirt.io/v1/namespaces/{space}/virtualmachineinstancemigrations" +
            (f"/{name}" if name else ""))


class ClusterTest(DaemonsTest):
    bed_program = launchers_program = data = Path()
    nodes = ("n1", "n2", "n3")
    hosts = {}  # of nodes that have room for VMs: the document of samples/ that KubeVirt's labeller goes by there
    agents = None  # nodes that have an agent from the beginning; None: all
    replicas = ("first",)
    without = ()  # names of definitions that this KubeVirt has not
    config = {}  # the spec of the ScoutConfig
    standin_options = ()
    scheduler = False  # the cluster's own, and not the stand-in, places target pods

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.end)
        cls.children = []
        cls.disks = cls.state / "disks"
        for node in cls.nodes:
            for part in ("pods", "plugins"):
                (cls.disks / node / part).mkdir(parents=True)
        cls.start_bed()
        cls.apply_definitions()
        cls.standin = cls.child([cls.launchers_program, "kubevirt", "--kubeconfig", cls.kubeconfig,
                                 "--disks", cls.disks, f"--scheduler={str(cls.scheduler).lower()}",
                                 *cls.standin_options])
        cls.standin.wait(lambda line: '"ready"' in line)
        cls.kubectl("apply", "-k", ROOT / "daemonset/base")
        cls.prepare()
        cls.api.make("/apis/virt-scout.io/v1alpha1/scoutconfigs", {
            "apiVersion": "virt-scout.io/v1alpha1", "kind": "ScoutConfig", "metadata": {"name": "default"},
            "spec": cls.config})
        for name in cls.replicas:
            cls.start_replica(name)
            cls.until(lambda: cls.leader() and cls.address_of(name, "https"))
        trust = f"/api/v1/namespaces/{SPACE}/configmaps/virt-scout-ca"
        cls.until(lambda: cls.api.get(trust) and cls.address_of(cls.leader(), "grpc"))
        for node in cls.nodes if cls.agents is None else cls.agents:
            cls.start_agent(node)

    @classmethod
    def prepare(cls):
        """What a test makes beside the manifests, before any replica starts."""

    @classmethod
    def end(cls):
        for name in list(cls.daemons):
            cls.stop(name)
        for child in reversed(cls.children):
            child.process.stdin.close()
            try:
                child.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            child.process.stdout.close()

    @classmethod
    def child(cls, words):
        log = (cls.state / f"{Path(words[0]).name}.log").open("ab")
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=log, text=True)
        log.close()
        cls.children.append(Lines(process))
        return cls.children[-1]

    @classmethod
    def start_bed(cls):
        state = cls.state / "bed"
        state.mkdir()
        policy = state / "audit.yaml"
        policy.write_text(AUDIT)
        cls.audit = state / "audit.log"
        # Without controllers nodes stay as they are made: no kubelet tells that they are alive.
        cls.bed = cls.child([cls.bed_program, "up", "--controllers=false",
                             f"--scheduler={str(cls.scheduler).lower()}", "--folder", state,
                             f"--apiserver-flags=--audit-policy-file={policy} --audit-log-path={cls.audit}"])
        ready = json.loads(cls.bed.wait(lambda line: line.startswith("{")))
        cls.kubeconfig = Path(ready["kubeconfig"])
        cls.api = Api(cls.own_config(), cls.state)

    @classmethod
    def own_config(cls):
        return json.loads(cls.kubectl("config", "view", "--raw", "-o", "json"))

    @classmethod
    def tell_bed(cls, line):
        """`stop PART` or `start PART`, done when this returns."""
        since = len(cls.bed.all)
        cls.bed.tell(line)
        cls.bed.wait(lambda said: said == f"done {line}\n", since)

    @classmethod
    def kubectl(cls, *words):
        done = subprocess.run(["kubectl", "--cache-dir", cls.state / "kubectl", "--kubeconfig", cls.kubeconfig, *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"kubectl {words}: {done.stderr}"
        return done.stdout

    @classmethod
    def apply_definitions(cls):
        made = []
        for file in sorted((cls.data / "kubevirt/crds").glob("*.json")):
            if file.stem not in cls.without:
                made.append(json.loads(file.read_text()))
                cls.api.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made[-1])
        for one in made:
            spec = one["spec"]
            version = next(each["name"] for each in spec["versions"] if each["served"])
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
            cls.until(lambda: cls.api.call("GET", path)[0] == 200)
        cls.api.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
        cls.api.make("/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts", {
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"},
            "spec": {"configuration": {"developerConfiguration": {"featureGates": ["Plugins"]}}},
            "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"}})
        for node in cls.nodes:
            cls.make_node(node, cls.hosts.get(node))

    @classmethod
    def make_node(cls, node, document=None):
        labels = {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": node}
        room = {}
        if document:
            labels |= cls.labels_of(document) | {"machine-type.node.kubevirt.io/q35": "true"}
            room = {"cpu": "32", "memory": "64Gi", "pods": "110"}
        cls.api.make("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels},
            **({"status": {"capacity": room, "allocatable": room}} if room else {})})
        if document:
            cls.api.merge(f"/api/v1/nodes/{node}", {"spec": {"taints": None}})  # of new nodes: not ready

    @classmethod
    def labels_of(cls, document):
        """What KubeVirt's labeller would write on such a host, as far as its document tells it."""
        done = subprocess.run([cls.bin / "scoutctl", "labels", ROOT / "samples" / document, "-o", "json"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True)
        return json.loads(done.stdout)["labels"]

    @classmethod
    def arguments_of(cls, kind, name):
        """Of its first container; addresses become loopback's, with a port that the kernel chooses."""
        made = cls.api.get(f"/apis/apps/v1/namespaces/{SPACE}/{kind}/{name}")
        given = made["spec"]["template"]["spec"]["containers"][0]["args"]
        return [re.sub(r"=0\.0\.0\.0:\d+$", "=127.0.0.1:0", each.replace("$(POD_NAMESPACE)", SPACE)) for each in given]

    @classmethod
    def token_of(cls, account, **more):
        return cls.api.make(f"/api/v1/namespaces/{SPACE}/serviceaccounts/{account}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": more})["status"]["token"]

    @classmethod
    def kubeconfig_of(cls, account, name):
        """A file of that name with a token of an account of our namespace."""
        config = cls.own_config()
        config["users"][0]["user"] = {"token": cls.token_of(account, expirationSeconds=86400)}
        file = cls.state / f"{name}.kubeconfig"
        file.write_text(json.dumps(config))
        return file

    @classmethod
    def start_replica(cls, name):
        file = cls.kubeconfig_of("virt-scout-aggregator", name)
        (cls.state / name).mkdir(mode=0o700, exist_ok=True)
        cls.start(name, *cls.arguments_of("deployments", "virt-scout-aggregator"), "--https-names=127.0.0.1",
                  program="aggregator", KUBECONFIG=str(file))

    @classmethod
    def address_of(cls, name, key):
        """The last one counts: "127.0.0.1:PORT" as the log has it behind KEY=."""
        found = re.findall(rf" {key}=(127\.0\.0\.1:\d+)", cls.whole_log_of(name))
        return found[-1] if found else ""

    @classmethod
    def leader(cls):
        """The replica that leads, by its own word; "" if none does."""
        for name in cls.replicas:
            said = re.findall(r"leadership leads=(\w+)", cls.whole_log_of(name)) if name in cls.daemons else []
            if said and said[-1] == "true":
                return name
        return ""

    @classmethod
    def whole_log_of(cls, name):
        return (cls.state / f"{name}.log").read_text(errors="replace")

    @classmethod
    def start_agent(cls, node, *more):
        """As the DaemonSet starts it there, with options beside; again after it was stopped, too."""
        pod = f"virt-scout-agent-{node}"
        if cls.api.get(f"/api/v1/namespaces/{SPACE}/pods/{pod}") is None:
            cls.api.make(f"/api/v1/namespaces/{SPACE}/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod},
                "spec": {"serviceAccountName": "virt-scout-agent", "nodeName": node,
                         "containers": [{"name": "agent", "image": "none"}]}})
        token = cls.state / f"{node}.token"
        token.write_text(cls.token_of("virt-scout-agent", audiences=["virt-scout"],
                                      boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": pod}))
        trust = cls.api.get(f"/api/v1/namespaces/{SPACE}/configmaps/virt-scout-ca")
        (cls.state / "ca.crt").write_text(trust["data"]["ca.crt"])
        places = {"$(NODE_NAME)": node, "=/etc/virt-scout/ca/ca.crt": f"={cls.state}/ca.crt",
                  "=/var/run/secrets/virt-scout/token": f"={token}", "=/pods": f"={cls.disks}/{node}/pods",
                  "=/var/run/kubevirt/plugins": f"={cls.disks}/{node}/plugins"}
        given = []
        for each in cls.arguments_of("daemonsets", "virt-scout-agent"):
            for old, new in places.items():
                each = each.replace(old, new)
            if each.startswith("--aggregator-address="):
                server = each.split("=", 1)[1].rsplit(":", 1)[0]
                each = f"--aggregator-address={cls.way_to_leader()}"
            given.append(each)
        cls.start(node, *given, f"--tls-server-name={server}", *more, program="agent")

    @classmethod
    def way_to_leader(cls):
        return cls.address_of(cls.leader(), "grpc")

    @classmethod
    def calls(cls, space):
        """What our accounts asked of a namespace's objects ("": of those in none), in order, but watches."""
        found = []
        for line in cls.audit.read_text(errors="replace").splitlines():
            one = json.loads(line)
            about = one.get("objectRef", {"namespace": None})  # none: no object was asked for
            ours = one["user"]["username"].startswith(OURS)
            if ours and about.get("namespace", "") == space and one["verb"] != "watch":
                found.append(one)
        return found
