"""What a JUnit file of ctest says of each test."""
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Result:
    name: str
    outcome: str
    seconds: float
    output: str

    @property
    def reason(self):
        """The last line that a skipped test printed says why, or the reason in what a check of gpu-check printed."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        for line in lines:
            if line.startswith('"reason": "'):
                return line.removeprefix('"reason": "').rstrip('",')
        return lines[-1].removeprefix("skipped: ") if lines else "it does not say why"

    @property
    def left_out(self):
        """The tests of a program that skipped themselves: GoogleTest lists them at its end, unittest says how many."""
        names = re.findall(r"^\[  SKIPPED \] (\S+)$", self.output.partition("listed below:")[2], re.MULTILINE)
        return names + [f"{count} of {self.name}" for count in re.findall(r"^OK \(skipped=(\d+)", self.output, re.MULTILINE)]


def outcome_of(case):
    """A test that did not run is skipped only when it says so itself: one whose program is missing has failed."""
    if case.get("status") == "run":
        return PASSED
    skipped_itself = any(note.get("message", "").startswith("SKIP_") for note in case.iter("skipped"))
    return SKIPPED if skipped_itself else FAILED


def read_results(path):
    """The results of a file; OSError or ElementTree.ParseError when the tests did not get as far as writing one."""
    return [Result(case.get("name"), outcome_of(case), float(case.get("time", 0)), case.findtext("system-out") or "")
            for case in ElementTree.parse(path).getroot().iter("testcase")]
