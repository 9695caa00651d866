#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functional tests of the proposal added-node-selector-term, each told before it is tried: what `scoutctl migrate
--dry-run` says of the same manifest, what the scheduler says then, and how the migration ends. Real control plane
with its own scheduler; KubeVirt is played.

usage: named_target_test.py BIN LAUNCHERS BED [unittest options]
environment: SCOUT_BED, if given, is the bed; SCOUT_TEST_DATA has KubeVirt's definitions
"""

import json

from move_stories import AimedStories
from stories import run_stories

PENDING = 1  # exit code of scoutctl for a migration that would not be done


def to_node(name):
    return json.dumps({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]})


class NamedTargetTest(AimedStories):
    """A VM on n1; n2 and n3 would take it."""

    scheduler = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for node, disk in (("n1", "hdd"), ("n2", "hdd"), ("n3", "ssd")):
            cls.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"disktype": disk}}})

    def judge(self, title, term):
        """What is said before, as JSON; a migration is asked for by the same manifest."""
        manifest = self.state / f"{self.space}.json"
        manifest.write_text(json.dumps(self.aimed(term) | {"metadata": self.aimed(term)["metadata"] | {
            "namespace": self.space}}))
        words = ("-f", str(manifest), "--dry-run", "--live")
        print(f"\n\n{title}\n  $ scoutctl migrate -f {manifest.name} --dry-run --live")
        told = self.scoutctl(*words)
        print("".join(f"    {line}\n" for line in self.said.splitlines()), end="")
        judged = self.scoutctl(*words, "-o", "json")
        self.assertEqual(judged.returncode, told.returncode, self.said)
        return told.returncode, json.loads(judged.stdout)

    def word_of_scheduler(self):
        """Of a target pod that fits no node; "" before."""
        for pod in self.target_pods():
            for each in pod.get("status", {}).get("conditions", []):
                if (each["type"], each["status"]) == ("PodScheduled", "False"):
                    return each["message"]
        return ""

    def expect_failure(self, title, term, code, nodes):
        """Told before by `code`; then the scheduler says `nodes`, and the VM stays where it is."""
        self.assertFalse(self.moves())
        exit_code, judged = self.judge(title, term)
        self.assertEqual(exit_code, PENDING)
        self.assertEqual(judged["verdict"], "pending")
        self.assertEqual(judged["candidates"], [])
        self.assertEqual(judged["giveUpSeconds"], 3)
        self.assertIn(code, [each["code"] for each in judged["reasons"]])
        move = self.make(term)
        self.until(self.word_of_scheduler)
        said = self.word_of_scheduler()
        self.ended(move, "Failed")
        self.assertIn(nodes, said)
        self.assertEqual(self.read()["status"]["nodeName"], "n1")
        self.assertEqual(self.read()["status"]["phase"], "Running")
        print(f"  made all the same; the scheduler: {said}\n  given up by KubeVirt after 3 s: Failed, the VM is on n1")

    def test_1_a_node_that_can_take_the_vm(self):
        self.vm()
        exit_code, judged = self.judge("A node that can take the VM", to_node("n3"))
        self.assertEqual(exit_code, 0)
        self.assertEqual((judged["verdict"], judged["candidates"]), ("ok", ["n3"]))
        move = self.make(to_node("n3"))
        self.ended(move, "Succeeded")
        self.assertEqual(self.read()["status"]["nodeName"], "n3")
        self.assertNotIn("nodeSelector", self.read()["spec"])
        self.assertNotIn("affinity", self.read()["spec"])
        before = self.asked("pod.target.virt-scout.io")
        self.ended(self.plain("vm"), "Succeeded")
        self.assertNotEqual(self.read()["status"]["nodeName"], "n3", "the next one is free again")
        self.assertEqual(self.asked("pod.target.virt-scout.io"), before)
        print("  made: Succeeded, the VM is on n3; the migration after that takes it elsewhere again")

    def test_2_not_to_a_node_that_the_vms_own_selector_excludes(self):
        self.vm(selector={"disktype": "hdd"})
        self.expect_failure("A node that the VM's own nodeSelector (disktype=hdd) excludes", to_node("n3"), "selector",
                            "didn't match Pod's node affinity/selector")

    def test_3_not_to_a_node_that_does_not_exist(self):
        self.vm()
        self.expect_failure("A node that does not exist", to_node("n9"), "node-absent", "NodeAffinity")

    def test_4_not_to_the_node_that_it_runs_on(self):
        self.vm()
        self.expect_failure("The node that it runs on", to_node("n1"), "already-there", "anti-affinity")

    def test_5_not_to_a_node_without_room(self):
        self.vm(requests={"memory": "24Gi"})
        self.api.make(f"/api/v1/namespaces/{self.space}/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
            "spec": {"nodeName": "n3", "containers": [{
                "name": "big", "image": "none", "resources": {"requests": {"memory": "16Gi"}}}]}})
        self.expect_failure("A node without room for another launcher (24 GiB of 32, 16 are taken)", to_node("n3"),
                            "resources", "Insufficient memory")


if __name__ == "__main__":
    run_stories(__doc__)
