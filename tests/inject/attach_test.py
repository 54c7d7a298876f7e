"""Programs under `spscope attach`, with a fake driver and a scripted collector: what they say and how they end stays
their own, and what they collect is in one file.

Usage: attach_test.py SPSCOPE PROGRAM LIBRARY
"""
import os
import signal
import struct
import subprocess
import sys
import unittest
from pathlib import Path

from attached import Attached

Attached.SPSCOPE, PROGRAM, Attached.LIBRARY = (str(Path(path).resolve()) for path in sys.argv[1:4])
TRACKS = ("SELECT track.rank, track.name, track.process, count(event.begin_ns) AS events FROM track LEFT JOIN event USING "
          "(track_id) GROUP BY track.track_id ORDER BY track.rank, track.track_id")


class AttachTest(Attached):
    def setUp(self):
        super().setUp()
        (self.home / "counts").mkdir()
        self.environment.update(SPSCOPE_SCRIPT="most=500 every_us=50", SPSCOPE_SCRIPT_COUNTS=str(self.home / "counts"))

    def published(self):
        """Events that each process had published, by its id."""
        return {int(file.name): sum(n for n, in struct.iter_unpack("<Q", file.read_bytes()))
                for file in (self.home / "counts").iterdir()}

    def test_output_and_exit_code_are_the_programs(self):
        done = self.attach(PROGRAM, "init", "print", "a line", "sleep", 50, "exit", 42, code=42)
        self.assertEqual(done.stdout, "a line\n")
        self.assertIn("wrote", done.stderr)

    def test_events_are_stored_under_their_names(self):
        self.attach(PROGRAM, "init", "sleep", 300)
        tracks = self.rows(TRACKS)
        self.assertEqual([(t["rank"], t["name"]) for t in tracks], [("", "stream 0")])
        self.assertIn("cuda_program init sleep 300 (process ", tracks[0]["process"])
        (published,) = self.published().values()
        self.assertEqual(int(tracks[0]["events"]), published)
        self.assertGreater(published, 0)
        self.assertEqual(self.rows("SELECT DISTINCT name, category FROM event"),
                         [{"name": "kernel of stream 0", "category": "kernel"}])
        strategies = self.rows("SELECT mode, label, ranks FROM strategy JOIN workload USING (workload_id)")
        self.assertEqual(strategies, [{"mode": "3", "label": "cuda_program", "ranks": "1"}])
        (repeat,) = self.rows("SELECT begin_ns, makespan_ns, (SELECT min(begin_ns) FROM event) AS first, "
                              "(SELECT max(end_ns) FROM event) AS last FROM repeat")
        moments = [int(repeat[key]) for key in ("begin_ns", "first", "last", "makespan_ns")]
        self.assertEqual(moments, sorted(moments), "events lie outside of the program")
        times = self.rows("SELECT min(end_ns - begin_ns) AS least, max(end_ns - begin_ns) AS most FROM event")
        self.assertEqual(times, [{"least": "1000", "most": "1000"}])

    def test_collecting_notes_are_told(self):
        self.assertIn("a note of the script", self.attach(PROGRAM, "init").stderr)

    def test_another_tool_is_named(self):
        self.environment["SPSCOPE_SCRIPT"] = "fail=1"
        done = self.attach(PROGRAM, "init", "print", "goes on")
        self.assertEqual(done.stdout, "goes on\n")
        self.assertIn("\"Some Tool\" traces this process already; run without Some Tool", done.stderr)

    def test_another_injection_is_left_alone(self):
        self.environment.update(CUDA_INJECTION64_PATH="/of/another/tool.so", NCCL_PROFILER_PLUGIN="inspector")
        done = self.attach(PROGRAM, "init", "exit", 3, code=3)
        self.assertIn("CUDA_INJECTION64_PATH is set to \"/of/another/tool.so\"", done.stderr)
        self.assertIn("NCCL_PROFILER_PLUGIN is set to \"inspector\"", done.stderr)
        self.assertFalse(self.out.exists())

    def test_program_without_cuda(self):
        done = self.attach("sh", "-c", "echo out; echo err >&2; exit 7", code=7)
        self.assertEqual(done.stdout, "out\n")
        self.assertTrue(done.stderr.startswith("err\n"), done.stderr)
        self.assertIn("nothing was collected", done.stderr)
        self.assertFalse(self.out.exists())

    def test_death_by_a_signal(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            self.attach(PROGRAM, "init", "sleep", 50, "raise", int(number), code=-number)
            (incident,) = self.rows("SELECT message FROM incident")
            self.assertIn(f"was ended by {number.name}", incident["message"])
            self.out.unlink()

    def test_signals_reach_the_program(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGWINCH, signal.SIGUSR1):
            process = subprocess.Popen(self.command(PROGRAM, "init", "signals", "exit", 5), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=self.environment)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            said, errors = process.communicate(timeout=60)
            self.assertEqual((said, process.returncode), (f"signal {int(number)}\n", 5), errors)
            self.out.unlink(missing_ok=True)  # it may end before its first event

    def test_program_that_is_not_there(self):
        done = self.attach("no-such-program", code=2)
        self.assertIn("cannot start \"no-such-program\"", done.stderr)

    def test_forked_child_is_off(self):
        self.attach(PROGRAM, "init", "sleep", 100, "fork", "init", "sleep", 100, "exit", 4, code=4)
        self.assertEqual(len(self.published()), 1)
        self.assertEqual(sum(int(t["events"]) for t in self.rows(TRACKS)), sum(self.published().values()))

    def test_four_processes_that_fork_and_exec(self):
        """Each is a rank, and its child, which is another program, has the same."""
        script = "for rank in 0 1 2 3; do RANK=$rank \"$@\" & done; wait"
        self.attach("sh", "-c", script, "sh", PROGRAM, "init", "sleep", 200, "fork", "exec", "init", "sleep", 200)
        tracks = self.rows(TRACKS)
        self.assertEqual([t["rank"] for t in tracks], ["0", "0", "1", "1", "2", "2", "3", "3"])
        published = self.published()
        self.assertEqual(len(published), 8)
        stored = {int(t["process"].rsplit(" ", 1)[1].rstrip(")")): int(t["events"]) for t in tracks}
        self.assertEqual(stored, published)

    def test_ranks_of_launchers(self):
        for name in ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
            self.environment[name] = "3"
            self.attach(PROGRAM, "init", "sleep", 50)
            self.assertEqual([t["rank"] for t in self.rows(TRACKS)], ["3"])
            del self.environment[name]
            self.out.unlink()

    def test_what_lives_on_is_not_waited_for(self):
        """Not even while it goes on publishing."""
        self.environment["SPSCOPE_SCRIPT"] = "threads=2 every_us=20"
        done = self.attach("sh", "-c", "\"$@\" > /dev/null 2>&1 & sleep 0.5", "sh", PROGRAM, "init", "sleep", 4000)
        self.assertIn("1 of its processes that collect go on", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
