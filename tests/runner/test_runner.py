"""What scripts/test reads and prints: JUnit files in the form that ctest writes, lines of ninja and ctest, the tables of
suites, and that each test of this build is of one suite.

Usage: test_runner.py CTEST BUILD_FOLDER
"""
import io
import sys
import tempfile
import unittest
from pathlib import Path

import progress
import results
import suites
import summary

PASSED = '<testcase name="a" status="run" time="90"/>'
FAILED = '<testcase name="b" status="fail" time="1"><failure message=""/><system-out>it is 3\n</system-out></testcase>'
SKIPPED = ('<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           "<system-out>looked\nskipped: there is no mpirun\n</system-out></testcase>")
MISSING = '<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>'
SHARES = {"cli": suites.Share("cli", 1, 2, "commands"), "unit": suites.Share("unit", 1, 0, "parts")}
LISTED = {"tests": [{"name": "a", "properties": [{"name": "LABELS", "value": ["cli", "hostile"]}]},
                    {"name": "b", "properties": []},
                    {"name": "c", "properties": [{"name": "LABELS", "value": ["cli", "unit", "extended"]}]}]}


def read(*cases):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.xml"
        path.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        return results.read_results(path)


def report(*cases, default=True, everything=False, slow=None, faults=()):
    """The lines of a summary, and its exit code."""
    entries = [summary.Entry(result, "cli", default, "all.log") for result in read(*cases)]
    out = io.StringIO()
    code = summary.report(summary.Total(entries, suites.tests_of(LISTED), list(faults)), SHARES, slow or {}, everything,
                          progress.Teller(out))
    return out.getvalue().splitlines(), code


class Counts(unittest.TestCase):
    def counts(self, *cases, **more):
        lines, code = report(*cases, **more)
        return lines[-1], code

    def test_the_last_line_adds_up(self):
        self.assertEqual(self.counts(PASSED, PASSED, SKIPPED), ("2 passed, 0 failed, 1 skipped", 0))

    def test_a_failure_fails(self):
        self.assertEqual(self.counts(PASSED, FAILED), ("1 passed, 1 failed, 0 skipped", 1))

    def test_a_test_whose_program_is_missing_has_failed(self):
        self.assertEqual(self.counts(PASSED, MISSING), ("1 passed, 1 failed, 0 skipped", 1))

    def test_what_went_wrong_outside_of_tests_has_failed(self):
        self.assertEqual(self.counts(PASSED, faults=["the build"]), ("1 passed, 1 failed, 0 skipped", 1))

    def test_no_tests_is_a_failure(self):
        self.assertEqual(self.counts(), ("0 passed, 0 failed, 0 skipped", 1))


class Lines(unittest.TestCase):
    def test_failures_name_their_log_and_skips_their_reason(self):
        lines, _ = report(PASSED, FAILED, SKIPPED)
        self.assertEqual(lines[lines.index("failed: b: read all.log") - 1], "    it is 3")
        self.assertIn("skipped: c: there is no mpirun", lines)

    def test_a_share_is_exceeded_by_half(self):
        share = "warning: cli took 3.0 minutes; its share in tests/SHARES is 1"
        self.assertIn(share, report(PASSED, PASSED)[0])
        self.assertNotIn(share, "".join(report(PASSED)[0]))
        self.assertFalse(any("share in" in line for line in report(PASSED, PASSED, everything=True)[0]))

    def test_a_slow_test_needs_a_line_and_a_line_a_slow_test(self):
        missing = "warning: over 5 s, and no line of tests/SLOW says what it alone would catch: a 90 s"
        self.assertIn(missing, report(PASSED)[0])
        self.assertNotIn(missing, report(PASSED, slow={"a*": "what"})[0])
        self.assertNotIn(missing, report(PASSED, default=False)[0])
        self.assertIn("warning: tests/SLOW: b takes less than 2.5 s: its line can go", report(FAILED, slow={"b": "what"})[0])
        self.assertIn("warning: tests/SLOW: no test of the default set is named c", report(PASSED, slow={"c": "what"})[0])


class Progress(unittest.TestCase):
    def follow(self, state, *lines):
        out = io.StringIO()
        teller = progress.Teller(out, clock=lambda: 120)
        for line in lines:
            now = state.read(line, teller)
        return out.getvalue(), now

    def test_of_a_build(self):
        self.assertEqual(self.follow(progress.Steps("build"), "-- Configuring", "[3/40] Building a.cpp"), ("", "build: step 3 of 40"))

    def test_of_tests(self):
        state = progress.Suites("tests", {"a": "cli", "b": "cli", "c": "unit"})
        said, now = self.follow(state, "    Start 1: a", "    Start 2: c", "1/3 Test #1: a ......   Passed    0.01 sec")
        self.assertEqual((said, now), ("", "tests: 2 tests left (cli 1, unit 1); now c"))
        said, now = self.follow(state, "2/3 Test #2: c ......***Failed    0.30 sec")
        self.assertEqual(said, "  0.0 min  FAILED: c: Failed\n  0.0 min  tests: unit is done, 1 test left\n")

    def test_a_line_each_minute_without_a_terminal(self):
        out, times = io.StringIO(), iter((0, 0, 30, 30, 90, 90, 90))
        teller = progress.Teller(out, clock=lambda: next(times))
        teller.now("early")
        teller.now("later")
        self.assertEqual(out.getvalue(), "  1.5 min  later\n")


class Tables(unittest.TestCase):
    def test_a_test_is_of_one_suite(self):
        tests = suites.tests_of(LISTED)
        self.assertEqual([suites.suite_of(test, SHARES) for test in tests], ["cli", None, None])
        self.assertEqual([fault.split(" is of ")[0] for fault in suites.unlisted(tests, SHARES)], ["b", "c"])
        self.assertEqual([(test.number, test.extended, test.sanitized) for test in tests],
                         [(1, False, True), (2, False, False), (3, True, False)])

    def test_a_line_has_all_columns_and_a_suite_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "SHARES"
            for text in ("cli 1 2\n", "# suite\ncli 1 2 commands\ncli 3 4 again\n"):
                path.write_text(text)
                self.assertRaises(SystemExit, suites.read_shares, path)

    def test_of_this_build(self):
        tests = suites.listed([*BUILD, "--show-only=json-v1"])
        self.assertEqual(suites.unlisted(tests, suites.read_shares()), [])
        suites.read_slow()


if __name__ == "__main__":
    BUILD = (sys.argv[1], "--test-dir", sys.argv[2])
    unittest.main(argv=sys.argv[:1])
