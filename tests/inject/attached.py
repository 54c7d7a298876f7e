"""What tests of programs under `spscope attach` share: a program, a library and the folders that attach uses, each test with
its own."""
import contextlib
import csv
import io
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK")
OF_LAUNCHERS = (*RANKS, "SLURM_TMPDIR")
STRANGER = """import os, socket, sys
if os.geteuid() == 0:
    os.setuid(int(sys.argv[2]))
while True:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.connect("\\0" + sys.argv[1])"""
OF_TOOLS = ("CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN", "NVTX_INJECTION64_PATH", "LD_PRELOAD")


HAS_MOUNTS = subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


class Attached(unittest.TestCase):
    SPSCOPE = LIBRARY = ""  # set by the script

    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="spscope-attach-test-"))
        self.addCleanup(shutil.rmtree, self.home)
        # The program looks for the library beside itself.
        (self.home / "bin").mkdir()
        (self.home / "lib/spscope").mkdir(parents=True)
        try:
            os.link(self.SPSCOPE, self.home / "bin/spscope")
        except OSError:  # on another file system
            shutil.copy(self.SPSCOPE, self.home / "bin/spscope")
        self.library = shutil.copy(self.LIBRARY, self.home / "lib/spscope/libspscope_inject.so")
        (self.home / "scratch").mkdir()
        self.out = self.home / "out.db"
        self.window = ()  # flags that say when attach collects
        self.strangers = 0
        self.environment = {name: value for name, value in os.environ.items() if name not in OF_LAUNCHERS + OF_TOOLS}
        self.environment["TMPDIR"] = str(self.home / "scratch")

    def command(self, *words):
        """Flags of attach come before the program."""
        flags = words[:2] if words[0] == "--acknowledge" else words[:1] if words[0] == "--json" else ()
        return [self.home / "bin/spscope", "attach", *map(str, (*self.window, *flags)), "-o", self.out, "--",
                *map(str, words[len(flags):])]

    def attach(self, *words, code=0, limits="true"):
        """`limits`: a command of the shell that comes before."""
        done = subprocess.run(["sh", "-c", f"{limits} && exec \"$@\"", "sh", *self.command(*words)], capture_output=True,
                              text=True, env=self.environment, timeout=900, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(list((self.home / "scratch").iterdir()), [], done.stderr)
        self.assertFalse(Path(f"{self.out}.collecting").exists())
        return done

    def start_stranger(self, name):
        """A process of another user, each of another, which asks the socket of attach again and again; where this is not
        root's, of this user."""
        uid = 65534 - self.strangers % 3
        self.strangers += 1
        stranger = subprocess.Popen([sys.executable, "-c", STRANGER, name, str(uid)], stderr=subprocess.DEVNULL)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)

    def kill_and_recover(self, attach, query, number, before_recover=lambda: None):
        """Kills attach once its shards give so many rows in all, and makes a file of them. What recover says."""
        found, until = 0, time.monotonic() + 60
        while found < number:
            self.assertIsNone(attach.poll())
            self.assertLess(time.monotonic(), until)
            found = 0
            for shard in (self.home / "scratch").glob("spscope-*/*.db"):
                with contextlib.suppress(sqlite3.Error), contextlib.closing(
                        sqlite3.connect(f"file:{shard}?mode=ro", uri=True)) as database:
                    found += len(database.execute(query).fetchall())
            time.sleep(0.01)
        attach.kill()
        attach.wait()
        before_recover()
        return subprocess.run([self.SPSCOPE, "recover", self.out, "-o", self.out], env=self.environment, capture_output=True,
                              text=True, check=False)

    def rows(self, query):
        done = subprocess.run([self.SPSCOPE, "sql", self.out, query, "--csv"], capture_output=True, text=True, check=True)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def value(self, query):
        """The one number that it gives."""
        (row,) = self.rows(query)
        (value,) = row.values()
        return int(value)


class Scripted(Attached):
    """With the scripted collector, which counts what each process published."""

    def setUp(self):
        super().setUp()
        (self.home / "counts").mkdir()
        self.environment.update(SPSCOPE_SCRIPT="most=500 every_us=50", SPSCOPE_SCRIPT_COUNTS=str(self.home / "counts"))

    def published(self):
        """Events that each process had published, by its id."""
        return {int(file.name): sum(n for n, in struct.iter_unpack("<Q", file.read_bytes()))
                for file in (self.home / "counts").iterdir()}
