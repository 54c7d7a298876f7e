"""Adds up the JUnit files that ctest wrote and prints `N passed, N failed, N skipped`.

Exit 0 when every file holds at least one test and nothing failed. A missing file is an error: its tests did not run.
"""
import sys
import xml.etree.ElementTree as ElementTree


def skipped_itself(case):
    """A test that ended with its skip code or text, unlike one whose program is missing."""
    return any(note.get("message", "").startswith("SKIP_") for note in case.iter("skipped"))


def count(path):
    """(passed, failed, skipped) of one file. A test that did not run and did not skip itself has failed."""
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    passed = sum(case.get("status") == "run" for case in cases)
    skipped = sum(skipped_itself(case) for case in cases)
    return passed, len(cases) - passed - skipped, skipped


def main(paths):
    totals, complete = [0, 0, 0], bool(paths)
    for path in paths:
        try:
            counts = count(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"no test results: {error}", file=sys.stderr)
            counts = (0, 0, 0)
        complete = complete and sum(counts) > 0
        totals = [total + more for total, more in zip(totals, counts)]
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 0 if complete and totals[1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
