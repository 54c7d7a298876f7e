"""Windows of a build with sanitizers, and the runs that they start and follow: tests of test_features.py in which
threads read files and shards while the window draws and input comes. Passes when these tests pass and no process, nor one that
was killed, has left a report of a sanitizer.

Usage: test_sanitized.py FOLDER_OF_PROGRAMS [--all]
  --all   every timeline, all that cancels, follows, stops and recovers runs, and files that change: minutes, not in CI
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from window import SKIPPED, missing

HERE = Path(__file__).resolve().parent
SHORT = ["loading_cancel", "loading_state", "timeline_passes_of_file", "run_closing", "start_recover"]
LONG = SHORT + ["timeline_", "file_changes_are_told", "locked_files", "rank_dims_others", "measure_snaps", "overview_progress",
                "heads_one_large", "heads_slide_over_steps", "run_strategies", "run_queue", "run_running", "run_stop", "run_recover",
                "report_exports", "million_events_cost_little"]
PATIENCE = "6"  # how much longer than usual a step may take


def environment(reports):
    """Reports go to files: windows that tests kill have nobody who reads their standard error."""
    common = f"log_path={reports}/report:exitcode=0"
    return {**os.environ, "SPSCOPE_TEST_PATIENCE": PATIENCE,
            "TSAN_OPTIONS": f"{common}:halt_on_error=0:second_deadlock_stack=1:suppressions={HERE / 'tsan.supp'}",
            # Leaks are not looked for: those of Mesa's drivers, which are unloaded by then, have no name to leave them out by.
            "ASAN_OPTIONS": f"{common}:detect_leaks=0", "UBSAN_OPTIONS": f"{common}:print_stacktrace=1"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    names = ",".join(LONG if options.all else SHORT)
    with tempfile.TemporaryDirectory(prefix="spscope-reports-") as reports:
        command = [sys.executable, "-B", HERE / "test_features.py", options.binaries, "--only", names]
        failed = subprocess.run(command, env=environment(reports)).returncode != 0
        found = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(Path(reports).iterdir())]
    for report in found:
        print(report)
    print(f"{len(found)} processes with reports of a sanitizer, the features {'failed' if failed else 'passed'}")
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main())
