"""Runs a command, keeps all that it prints in a log, and shows how far it is: steps of a build, tests of each suite.

On a terminal one line is written again and again. Elsewhere, as in CI, a line comes when a suite has ended and at least each
minute. Tests that fail are named at once.
"""
import re
import shutil
import subprocess
import sys
import threading
import time

STEP = re.compile(r"^\[(\d+)/(\d+)\] ")
START = re.compile(r"^ *Start +\d+: (\S+)")
END = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) \.* *(.*?) +[\d.]+ sec")
TELL_EVERY_S = 60


class Teller:
    """Prints lines, each with the minutes so far."""

    def __init__(self, out=sys.stdout):
        self._out, self._begin = out, time.monotonic()
        self._terminal, self._told, self._width = out.isatty(), self._begin, 0

    def minutes(self):
        return (time.monotonic() - self._begin) / 60

    def say(self, text):
        """A line that stays."""
        self._write("\r" + text.ljust(self._width) + "\n" if self._width else text + "\n")
        self._width, self._told = 0, time.monotonic()

    def now(self, text):
        """How far things are: replaced by the next on a terminal, elsewhere a line each minute."""
        text = f"{self.minutes():5.1f} min  {text}"
        if self._terminal:
            text = text[:shutil.get_terminal_size().columns - 1]
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif time.monotonic() - self._told >= TELL_EVERY_S:
            self.say(text)

    def _write(self, text):
        self._out.write(text)
        self._out.flush()


class Steps:
    """How far a build is, by what ninja prints."""

    def __init__(self, name):
        self._name, self._now = name, "starts"

    def read(self, line, teller):
        if step := STEP.match(line):
            self._now = f"step {step[1]} of {step[2]}"
        return self.now()

    def now(self):
        return f"{self._name}: {self._now}"


class Suites:
    """How far tests are, by what ctest prints. `suites` has the suite of each test that will run."""

    def __init__(self, name, suites):
        self._name, self._suite, self._running = name, suites, []
        self._left = {suite: list(suites.values()).count(suite) for suite in dict.fromkeys(suites.values())}

    def read(self, line, teller):
        if start := START.match(line):
            self._running.append(start[1])
        elif (end := END.match(line)) and end[1] in self._suite:
            self._ended(end[1], end[2], teller)
        return self.now()

    def _ended(self, test, how, teller):
        if test in self._running:
            self._running.remove(test)
        suite = self._suite[test]
        self._left[suite] -= 1
        if "Passed" not in how and "Skipped" not in how:
            teller.say(f"{teller.minutes():5.1f} min  FAILED: {test}: {how.strip('* ')}")
        if self._left[suite] == 0:
            teller.say(f"{teller.minutes():5.1f} min  {self._name}: {suite} is done, {self._tests_left()}")

    def _tests_left(self):
        left = sum(self._left.values())
        return f"{left} test{'' if left == 1 else 's'} left"

    def now(self):
        suites = ", ".join(f"{suite} {left}" for suite, left in self._left.items() if left)
        return f"{self._name}: {self._tests_left()} ({suites}); now {', '.join(self._running)}"


def follow(command, log, state, teller):
    """The exit code of the command. `state` reads each line of its output."""
    with open(log, "a", encoding="utf-8") as kept, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        ended = threading.Event()

        def tell():
            while not ended.wait(5):
                teller.now(state.now())

        teller_thread = threading.Thread(target=tell, daemon=True)
        teller_thread.start()
        for line in process.stdout:
            kept.write(line)
            kept.flush()
            teller.now(state.read(line, teller))
        ended.set()
        teller_thread.join()
        return process.wait()
