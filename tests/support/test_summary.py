"""The closing line of scripts/test, from JUnit files in the form that ctest writes."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import summary

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message=""/></testcase>'
SKIPPED = '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
MISSING = '<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>'


class Summary(unittest.TestCase):
    def run_on(self, *files):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()):
            paths = [Path(folder) / f"{number}.xml" for number in range(len(files))]
            for path, cases in zip(paths, files):
                if cases is not None:
                    path.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
            status = summary.main(paths)
        return out.getvalue(), status

    def test_files_are_added_up(self):
        self.assertEqual(self.run_on([PASSED, PASSED, SKIPPED], [PASSED]), ("3 passed, 0 failed, 1 skipped\n", 0))

    def test_a_failure_anywhere_fails(self):
        self.assertEqual(self.run_on([PASSED], [FAILED]), ("1 passed, 1 failed, 0 skipped\n", 1))

    def test_a_test_whose_program_is_missing_has_failed(self):
        self.assertEqual(self.run_on([PASSED, MISSING]), ("1 passed, 1 failed, 0 skipped\n", 1))

    def test_no_tests_is_a_failure(self):
        self.assertEqual(self.run_on([PASSED], []), ("1 passed, 0 failed, 0 skipped\n", 1))
        self.assertEqual(self.run_on([PASSED], None), ("1 passed, 0 failed, 0 skipped\n", 1))
        self.assertEqual(self.run_on(), ("0 passed, 0 failed, 0 skipped\n", 1))


if __name__ == "__main__":
    unittest.main()
