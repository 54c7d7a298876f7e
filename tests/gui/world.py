"""What the tests of the window share: the programs, stored runs that they make in a second, and a window on the demo
that many tests use one after the other.
"""
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import observed_file
from window import Display, Window

FEW_PIXELS = (1100, 700)  # which are drawn in two thirds of the time
ROOT = Path(__file__).resolve().parents[2]
DEMO = """[model]
preset = "wan2.1-t2v-14b"
[mask]
pattern = "sparge"
density = 0.3
[cluster]
preset = "h100x8"
[run]
mode = "simulate"
attention_kernel = "vsa"
strategies = ["ulysses", "ring", "usp:ulysses=4,ring=2", "dbsp", "cyclic"]
layers = 2
denoise_steps = 3
"""


class World:
    def __init__(self, binaries, size=(1440, 900), manager=None, screen=(1920, 1080)):
        self.binaries = Path(binaries).resolve()
        self.program, self.spscope = self.binaries / "spscope-gui", self.binaries / "spscope"
        self._folder = tempfile.TemporaryDirectory(prefix="spscope-gui-test-")
        self.folder = Path(self._folder.name)
        self.display = Display(screen, manager)
        self.size = size
        self._shared = None
        self._digests = {}

    def close(self):
        for window in [self._shared] if self._shared else []:
            window.kill()
        self.display.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- stored runs

    def run(self, name, *settings, text=DEMO):
        """The stored results of a config with some of its keys changed, "run.layers=1"; made once."""
        path = self.folder / name
        if not path.exists():
            config = path.with_suffix(".toml")
            config.write_text(text, encoding="utf-8")
            sets = sum((["--set", s] for s in (f"run.output={path}", *settings)), [])
            made = subprocess.run([self.spscope, "run", config, *sets], capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            self._digests[path] = hashlib.sha256(path.read_bytes()).digest()
        return path

    def changed_copy(self, name, *statements, of=None):
        """A copy of a stored run, of the demo if of none, changed behind the program's back."""
        path = self.folder / name
        shutil.copy(of or self.demo, path)
        store = sqlite3.connect(path)
        for statement in statements:
            store.execute(statement)
        store.commit()
        store.close()
        return path

    def changed_runs(self):
        """Stored runs that are not, byte for byte, what the program made: the app only reads."""
        return [path.name for path, digest in self._digests.items() if hashlib.sha256(path.read_bytes()).digest() != digest]

    def observed(self):
        """What `spscope attach` stores of a program on two GPUs: kernels and copies on streams, calls of threads, operations
        of NCCL, which overlap, and counters; no strategies. Made once."""
        path = self.folder / "observed.db"
        if not path.exists():
            changed = self.changed_copy("attached.db", *observed_file.NO_STRATEGIES)
            observed_file.add_tracks(changed)
            subprocess.run([self.spscope, "recover", changed, "-o", path], capture_output=True, check=True)
        return path

    def lost(self):
        """The same of a program whose collector lost events."""
        return self.changed_copy("lost.db", "update ledger set sent = sent + 228, dropped = dropped + 228 where track_id = 1",
                                 "insert into collector values (0, 'python3 4000', 'cupti', 0, 0, 0, 1600, 228, "
                                 "'cupti: 228 of 1828 records are missing: CUPTI had no buffer for them', 0)", of=self.observed())

    def partly(self):
        """A run that was interrupted, lost events, and had fewer cores than ranks."""
        return self.changed_copy("partly.db", "update workload set denoise_steps = denoise_steps + 2", "update run set timing = 1",
                                 "update ledger set sent = sent + 12, dropped = dropped + 12 where track_id = 1")

    @property
    def demo(self):
        return self.run("demo.db")

    def one_pass(self, name="own.db", *settings):
        """A layer pass of two strategies of the demo."""
        return self.run(name, "run.layers=1", "run.denoise_steps=1", 'run.strategies=["ulysses", "ring"]', *settings)

    @property
    def executed(self):
        """A run of three repeats that was executed here: whole layers of the smallest model that attends along two axes."""
        return self.run("executed.db", "run.repeats=3", text=(ROOT / "samples/st-mini.toml").read_text(encoding="utf-8"))

    def json_of(self, *arguments):
        """What the command line says of the same file."""
        return json.loads(subprocess.run([self.spscope, *map(str, arguments)], capture_output=True, text=True, check=True).stdout)

    def sql(self, path, question):
        """Rows of a question to a stored run, by the command line."""
        return [tuple(row) for row in self.json_of("sql", path, question, "--json")["rows"]]

    def view_dump(self, view, *arguments):
        return said_by(self.program, "--view-dump", view, *arguments)

    # -- windows

    def open(self, *arguments, **more):
        """A window of its own; the caller closes it."""
        return Window(self.display, *arguments, **{"program": self.program, "size": self.size, **more})

    def window(self, view="overview", size=None):
        """A new window with the demo open in a view: what tests before it did does not show. It ends with the next."""
        self.close_shared()
        self._shared = self.open(f"{self.demo}#{view}", folder=self.folder / "shared", size=size or self.size)
        return self._shared

    def drop_shared(self):
        """After a failure: what the window is like now is not known."""
        if self._shared is not None:
            self._shared.kill()
            self._shared = None

    def close_shared(self):
        if self._shared is not None:
            window, self._shared = self._shared, None
            window.close()


def no_display():
    return {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}


def said_by(program, *arguments):
    """The JSON that the app prints without a display; it ends well and says nothing else."""
    command = [program, "--settings", "", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, env=no_display())
    assert ended.returncode == 0 and not ended.stderr, f"ended with {ended.returncode}: {ended.stderr.strip()[-4000:]}"
    return json.loads(ended.stdout)


def commands():
    """(id, group, title, keys) of the command table."""
    text = (ROOT / "gui/app/commands.def").read_text(encoding="utf-8")
    return [(i, g, t, k.split()) for i, g, t, k in re.findall(r'^COMMAND\((\w+), (\w+), "([^"]*)", "([^"]*)"\)', text, re.MULTILINE)]


def views():
    """(id, title, needs a file) of the table of views."""
    text = (ROOT / "gui/views/views.def").read_text(encoding="utf-8")
    return [(i, t, n == "true") for i, t, n in re.findall(r'^VIEW\((\w+), "([^"]*)", (\w+)\)', text, re.MULTILINE)]


def axis(window):
    """The range of time on the screen, in nanoseconds."""
    return window.view["begin_ns"], window.view["end_ns"]


def select_op(window, strategy="ulysses", rank=0, name="attend"):
    """Clicks an operation of a rank where it is widest; its number."""
    prefix = f"band {strategy}/rank {rank} op "
    marks = [i for i in window.items if prefix in i["path"] and i["kind"] == "mark" and i["text"] == name]
    assert marks, f"no mark of {name} on rank {rank} of {strategy}, but of " + ", ".join(sorted({i["path"] for i in window.items if i["kind"] == "mark"})[:20])
    widest = max(marks, key=lambda i: i["rect"][2] - i["rect"][0])
    window.click(widest["path"], first=True)
    number = int(widest["path"].split(" op ")[1].split()[0])
    assert f"op={number}" in window.link, (widest["path"], window.link)
    return number
