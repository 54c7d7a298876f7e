"""What scripts/test reads and prints: JUnit files in the form that ctest writes, the tables of suites, and that each test of
this build is of one suite.

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
INSIDE = ('<testcase name="e" status="run" time="1"><system-out>[  SKIPPED ] A.b (0 ms)\n[  PASSED  ] 3 tests.\n'
          "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b\n</system-out></testcase>")
COUNTED = '<testcase name="f" status="run" time="1"><system-out>Ran 9 tests in 1.0s\n\nOK (skipped=2)\n</system-out></testcase>'
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


class Summary(unittest.TestCase):
    def test_the_last_line_adds_up_and_what_did_not_run_has_failed(self):
        for cases, faults, line, code in (((PASSED, PASSED, SKIPPED), (), "2 passed, 0 failed, 1 skipped", 0),
                                          ((PASSED, FAILED), (), "1 passed, 1 failed, 0 skipped", 1),
                                          ((PASSED, MISSING), (), "1 passed, 1 failed, 0 skipped", 1),
                                          ((PASSED,), ["the build"], "1 passed, 1 failed, 0 skipped", 1),
                                          ((), (), "0 passed, 0 failed, 0 skipped", 1)):
            lines, ended = report(*cases, faults=faults)
            self.assertEqual((lines[-1], ended), (line, code))

    def test_failures_name_their_log_and_skips_their_reason(self):
        lines, _ = report(PASSED, FAILED, SKIPPED)
        self.assertEqual(lines[lines.index("failed: b: read all.log") - 1], "    it is 3")
        self.assertIn("skipped: c: there is no mpirun", lines)
        inside = "skipped inside of programs that passed: {}: read all.log"
        self.assertIn(inside.format("A.b, 2 of f"), report(PASSED, INSIDE, COUNTED)[0])
        self.assertIn(inside.format("A.b and 3 more"), report(*[INSIDE] * 4)[0])

    def test_warnings(self):
        share = "warning: cli took 3.0 minutes; its share in tests/SHARES is 1"
        slow = "warning: over 5 s, and no line of tests/SLOW says what it alone would catch: a 90 s"
        for there, warning, cases, more in ((True, share, (PASSED, PASSED), {}), (False, share, (PASSED,), {}),
                                            (False, share, (PASSED, PASSED), {"everything": True}), (True, slow, (PASSED,), {}),
                                            (False, slow, (PASSED,), {"slow": {"a*": "what"}}), (False, slow, (PASSED,), {"default": False}),
                                            (True, "warning: tests/SLOW: b takes less than 2.5 s: its line can go", (FAILED,), {"slow": {"b": "what"}}),
                                            (True, "warning: tests/SLOW: no test of the default set is named c", (PASSED,), {"slow": {"c": "what"}})):
            self.assertEqual(warning in report(*cases, **more)[0], there, (warning, cases, more))


class Tables(unittest.TestCase):
    def test_a_test_is_of_one_suite_and_may_do_all_that_another_does(self):
        tests = suites.tests_of(LISTED)
        self.assertEqual([suites.suite_of(test, SHARES) for test in tests], ["cli", None, None])
        self.assertEqual([fault.split(" is of ")[0] for fault in suites.unlisted(tests, SHARES)], ["b", "c"])
        self.assertEqual([(test.number, test.extended, test.sanitized) for test in tests],
                         [(1, False, True), (2, False, False), (3, True, False)])
        tests = [suites.Test(1, name, frozenset(labels)) for name, *labels in
                 (["a"], ["a_wide", "whole"], ["b_test"], ["b_wide", "whole"], ["c"], ["c_wide"], ["a_wider"])]
        self.assertEqual(suites.contained(tests), {"a", "b_test"})

    def test_of_this_build(self):
        tests = suites.listed([*BUILD, "--show-only=json-v1"])
        self.assertEqual(suites.unlisted(tests, suites.read_shares()), [])
        self.assertEqual(len(suites.contained(tests)), sum(suites.WHOLE in test.labels for test in tests))
        suites.read_slow()


if __name__ == "__main__":
    BUILD = (sys.argv[1], "--test-dir", sys.argv[2])
    unittest.main(argv=sys.argv[:1])
