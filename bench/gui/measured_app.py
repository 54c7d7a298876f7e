"""A window of the desktop app as bench/gui/measure uses it: under Xvfb with software GL, with input by xdotool, and each
of its frames as a line of the file of --frame-times. No dump is written, which would cost time; where things stand in
the window comes from a dump of the same place without a display.
"""
import collections
import functools
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/gui"))
from window import Display  # noqa: E402

SIZE = (1920, 1080)
TIMEOUT_S = 120
Frame = collections.namedtuple("Frame", "begin_ns build_begin_ns built_ns end_ns actions answered busy early ready")


def now_ns():
    """The clock of --frame-times."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def percentile(values, percent):
    """The smallest value that so many percent of the values do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


class App:
    """A window that begins with a link; `began_ns` is when its process was started."""
    driver = ""  # of the window that ended last

    def __init__(self, program, display, folder, link):
        self.display = display
        path = Path(folder) / "frames.csv"
        path.unlink(missing_ok=True)
        self._errors = open(Path(folder) / "stderr.txt", "w+", encoding="utf-8")
        command = [program, "--settings", "", "--size", "{}x{}".format(*SIZE), "--frame-times", path, link]
        self.began_ns = now_ns()
        self.process = subprocess.Popen(command, env=display.environment, stdout=subprocess.DEVNULL, stderr=self._errors)
        self.frames, self._rest, self._input = [], "", None
        while not path.exists():
            self._alive()
            time.sleep(0.002)
        self._file = open(path, encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._input:
            self._input.terminate()
            self._input.wait()
        App.driver = self._libraries()
        self.process.terminate()
        self.process.wait()
        self._errors.close()
        self._file.close()

    def _alive(self):
        if self.process.poll() is not None:
            self._errors.seek(0)
            raise RuntimeError(f"the app ended with {self.process.returncode}: {self._errors.read()}")

    def read(self):
        """All frames so far."""
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        self.frames += [Frame(*map(int, line.split(","))) for line in lines if not line.startswith("begin_ns")]
        return self.frames

    def wait(self, condition, since=0):
        """The first frame of those from number `since` on that meets a condition."""
        end, at = time.monotonic() + TIMEOUT_S, since
        while time.monotonic() < end:
            for at in range(at, len(self.read())):
                if condition(self.frames[at]):
                    return self.frames[at]
            at = len(self.frames)
            self._alive()
            time.sleep(0.005)
        raise RuntimeError(f"no such frame in {TIMEOUT_S} s; the newest: {self.frames[-1:]}")

    def at_rest(self, condition=lambda f: True, since=0):
        """The first frame that shows all that was asked for: the one after it asks nothing more."""
        calm = lambda f: not f.busy and f.ready > 0 and condition(f)
        number = since
        while True:
            shown = self.wait(calm, number)
            number = self.frames.index(shown, number) + 1
            after = self.wait(lambda f: True, number)
            if calm(after) and after.answered == shown.answered:
                return shown

    # -- input

    def focus(self):
        found = subprocess.run(["xdotool", "search", "--onlyvisible", "--pid", str(self.process.pid)], env=self.display.environment,
                               capture_output=True, text=True, check=True).stdout.split()
        self._input = subprocess.Popen(["xdotool", "-"], env=self.display.environment, stdin=subprocess.PIPE, text=True)
        self.give(f"windowfocus {found[-1]}")
        time.sleep(0.2)

    def give(self, *lines):
        """Commands of xdotool, at once; when that was, in ns."""
        at_ns = now_ns()
        self._input.stdin.write("\n".join(lines) + "\n")
        self._input.stdin.flush()
        return at_ns

    def answer_to(self, *lines):
        """Gives input that asks something; milliseconds until a frame shows the answer."""
        before = self.read()[-1]
        at_ns = self.give(*lines)
        shown = self.at_rest(lambda f: f.answered > before.answered and f.actions > before.actions, len(self.frames))
        time.sleep(0.3)  # the frames after it
        return (shown.end_ns - at_ns) * 1e-6

    # -- what the process takes

    def peak_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _libraries(self):
        """The libraries that draw."""
        maps = Path(f"/proc/{self.process.pid}/maps").read_text(encoding="utf-8")
        names = sorted({Path(p).name for p in re.findall(r"\S*/(?:\w+_dri|libgallium[^/]*|libLLVM[^/]*)\.so\S*", maps)})
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libgl1-mesa-dri"], capture_output=True, text=True).stdout
        return f"{', '.join(names)}; Mesa {version or 'of unknown version'}"


@functools.cache
def place_of(program, link, path):
    """The middle of the first item in a window at rest whose path has the pattern `path`: x, y."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    dump = json.loads(subprocess.run([program, "--settings", "", "--size", "{}x{}".format(*SIZE), "--ui-dump", "-", link],
                                     env=environment, capture_output=True, text=True, check=True).stdout)
    items = dump["items"] if isinstance(dump, dict) else dump
    rect = next(i["rect"] for i in items if re.search(path, i["path"]) and i["kind"] != "text")
    return round((rect[0] + rect[2]) / 2), round((rect[1] + rect[3]) / 2)


def hand(x, y, seconds, give):
    """Pans and zooms as hands do, from all to single events and back, by wheel, mouse and keys. Gives one input after the
    other with its usual distance."""
    def steps(command, count, distance_s):
        for _ in range(count):
            if time.monotonic() < end:
                give(command)
                time.sleep(distance_s)

    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        at = x + (-300, 200, 0, 400, -150)[turn % 5]
        give(f"mousemove {at} {y}")
        steps("click 4", 34, 0.025)
        give("mousedown 1")
        steps("mousemove_relative -- -16 0", 30, 0.016)
        give("mouseup 1")
        steps("key d", 12, 0.033)
        steps("key a", 8, 0.033)
        steps("click 5", 20, 0.025)
        steps("key w", 6, 0.033)
        steps("key s", 6, 0.033)
        give("key Home")
        turn += 1
