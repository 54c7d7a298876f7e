"""samples/k8s/job.yaml: has the fields that a run needs, and its command does what it says, run here.

Usage: test_k8s.py PROGRAM SOURCE_DIR
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import yaml

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
LONG = ["--set", "run.repeats=2000", "--set", "run.strategies=ring"]


def load():
    return yaml.safe_load((SOURCE / "samples/k8s/job.yaml").read_text(encoding="utf-8"))


def gibibytes(text):
    number, unit = text[:-2], text[-2:]
    return float(number) * {"Mi": 1 / 1024, "Gi": 1}[unit]


class Manifest(unittest.TestCase):
    def test_has_what_a_run_needs(self):
        job = load()
        pod = job["spec"]["template"]["spec"]
        container, = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        at = {mount["mountPath"]: volumes[mount["name"]].get("emptyDir") for mount in container["volumeMounts"]}
        limits = container["resources"]["limits"]
        # A job that does not repeat a failed run, and has time to merge.
        self.assertEqual((job["apiVersion"], job["kind"], job["spec"]["backoffLimit"], pod["restartPolicy"]), ("batch/v1", "Job", 0, "Never"))
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 60)
        # It asks for what it may use, and mounts every volume once.
        self.assertEqual(container["resources"]["requests"], limits)
        self.assertEqual(sorted(mount["name"] for mount in container["volumeMounts"]), sorted(volumes))
        # It collects on the disk of its node, and has shared memory that fits the pod.
        scratch = at[{item["name"]: item["value"] for item in container["env"]}["TMPDIR"]]
        self.assertNotEqual(scratch.get("medium"), "Memory")
        self.assertLessEqual(gibibytes(scratch["sizeLimit"]), gibibytes(limits["ephemeral-storage"]))
        self.assertEqual(at["/dev/shm"]["medium"], "Memory")
        self.assertLess(gibibytes(at["/dev/shm"]["sizeLimit"]), gibibytes(limits["memory"]))


class Command(unittest.TestCase):
    """The container's command with folders in place of its volumes."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="spscope-k8s-"))
        self.addCleanup(shutil.rmtree, self.folder)
        container = load()["spec"]["template"]["spec"]["containers"][0]
        for mount in container["volumeMounts"]:
            (self.folder / mount["mountPath"][1:]).mkdir(parents=True, exist_ok=True)
        config = (SOURCE / "samples/photo.toml").read_text(encoding="utf-8")
        for name in ("photo_mask.npy", "photo_qkv.safetensors"):
            config = config.replace(f'"{name}"', f'"{SOURCE}/samples/{name}"')
        (self.folder / "config/run.toml").write_text(config, encoding="utf-8")
        self.command = [str(PROGRAM)] + [self.place(argument) for argument in container["args"]]
        self.environment = {"PATH": os.environ["PATH"],
                            **{item["name"]: self.place(item["value"]) for item in container["env"]}}
        self.out = self.folder / "results/run.db"

    def place(self, text):
        return str(self.folder) + text if text.startswith("/") else text

    def left(self):
        return sorted(path.name for path in (self.folder / "scratch").iterdir())

    def test_writes_the_file_and_leaves_no_scratch(self):
        done = subprocess.run(self.command, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([PROGRAM, "compare", self.out], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.left(), [])

    def test_ends_well_when_kubernetes_ends_it(self):
        process = subprocess.Popen(self.command + LONG, env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 1), text)
        self.assertTrue(self.out.exists() or process.returncode == 1, text)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
