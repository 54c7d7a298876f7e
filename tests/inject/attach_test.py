"""Programs under `spscope attach`, with a fake driver and a scripted collector: what they say and how they end stays
their own, and what they collect is in one file.

Usage: attach_test.py SPSCOPE PROGRAM LIBRARY
"""
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from attached import RANKS, Attached, Scripted

Attached.SPSCOPE, PROGRAM, Attached.LIBRARY = (str(Path(path).resolve()) for path in sys.argv[1:4])
FAKE_NVML = os.environ["FAKE_NVML"]
TRACKS = ("SELECT track.rank, track.name, track.process, count(event.begin_ns) AS events FROM track LEFT JOIN event USING "
          "(track_id) GROUP BY track.track_id ORDER BY track.rank, track.track_id")


class AttachTest(Scripted):
    def test_events_are_stored_under_their_names(self):
        said = self.attach(PROGRAM, "init", "sleep", 300).stderr
        self.assertEqual(said.count("a note of the script"), 1, said)
        self.assertEqual(said.count("a note of its end"), 1, said)
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

    def test_what_processes_have_in_common_is_told_once(self):
        """Of the first of them at once, of the others together."""
        said = self.attach("sh", "-c", "for i in 1 2 3 4; do \"$@\" & done; wait", "sh", PROGRAM, "init", "sleep", 100).stderr
        self.assertRegex(said, r"\(process \d+\): scripted: a note of the script\n")
        self.assertIn("also of 3 processes: scripted: a note of the script\n", said)
        self.assertEqual(said.count("a note of the script"), 2, said)

    def test_names_of_processes_are_short(self):
        """Whole words, without folders, and no escape of a terminal."""
        done = self.attach(PROGRAM, "init", "\x1b", "print", "word " * 20, "sleep", 100)
        (track,) = self.rows(TRACKS)
        self.assertRegex(track["process"], r"^cuda_program init . print … \(process \d+\)$")
        self.assertNotIn("\x1b", done.stderr)

    def test_counters_that_cannot_be_read_are_stored_with_the_reason(self):
        self.environment.update(SPSCOPE_FAKE_NVML="fail=nvmlInit_v2:9", LD_LIBRARY_PATH=FAKE_NVML)
        done = self.attach(PROGRAM, "init", "sleep", 100)
        (row,) = self.rows("SELECT process, outcome, records, notes FROM collector WHERE name = 'nvml'")
        self.assertEqual((row["process"], row["outcome"], row["records"]), ("", "2", "0"))
        self.assertIn("nvmlInit_v2 failed", row["notes"])
        why = row["notes"].removeprefix("nvml: ")
        self.assertIn(f"nvml does not collect here: {why}", done.stderr)
        self.assertIn(f"  nvml: did not collect: {why}", done.stderr)
        said = subprocess.run([self.SPSCOPE, "doctor", self.out], capture_output=True, text=True, check=False).stdout
        self.assertRegex(said, r"collector nvml +did not collect: .*nvmlInit_v2 failed")

    def test_json_is_the_last_line(self):
        """What the text says, also of a program that was killed, and of one that nothing was collected of."""
        done = self.attach("--json", PROGRAM, "init", "sleep", 100, "raise", int(signal.SIGTERM), code=-signal.SIGTERM)
        said = json.loads(done.stdout)
        self.assertEqual((said["schema_version"], said["file"], said["exit_code"], said["signal"], said["processes"]),
                         (1, str(self.out), None, "SIGTERM", 1))
        self.assertEqual((said["events"], said["ranks"]), (self.value("SELECT count(*) FROM event"), []))
        (scripted,) = [row for row in said["collectors"] if row["name"] == "scripted"]
        self.assertEqual((scripted["outcome"], scripted["lost"], scripted["rank"]), ("cut off", None, None))
        self.assertIn("cuda_program init", scripted["process"])
        self.assertIn("scripted: a note of the script", scripted["notes"])
        (note,) = [note for note in said["notes"] if note["text"] == "scripted: a note of the script"]
        self.assertEqual(note["processes"], [scripted["process"]])
        self.assertIn("scripted: at least 0 records, losses unknown", done.stderr)
        self.assertIn("was ended by SIGTERM", self.rows("SELECT message FROM incident")[0]["message"])
        self.out.unlink()
        self.environment["RANK"] = "2"
        done = self.attach("--json", PROGRAM, "init", "print", "a line", "sleep", 50, "exit", 4, code=4)
        first, _, last = done.stdout.splitlines()
        said = json.loads(last)
        self.assertEqual(first, "a line")
        self.assertEqual((said["exit_code"], said["signal"], said["ranks"], said["error"]), (4, None, [2], None))
        self.out.unlink()
        done = self.attach("--json", "sh", "-c", "printf 'no end of line'; echo err >&2; exit 7", code=7)
        first, last = done.stdout.splitlines()
        said = json.loads(last)
        self.assertEqual((first, said["file"], said["exit_code"], said["collectors"]), ("no end of line", None, 7, []))
        self.assertTrue(done.stderr.startswith('err\nspscope attach: "'), done.stderr)
        self.assertRegex(said["error"]["text"], r'^".*out.db" was not made: (this machine has no CUDA driver|no process)')

    def test_json_says_why_no_file_was_made(self):
        """Here another program's folder took its place. The program's exit code is kept. recover adds nothing to what attach
        knew of a process that it never heard of."""
        script = "SPSCOPE_ATTACH=nobody \"$1\" init; \"$@\"; mkdir \"$0\" && touch \"$0/file\"; exit 5"
        command = self.command("--json", "sh", "-c", script, self.out, PROGRAM, "init", "sleep", 100)
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=60, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        said = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((said["file"], said["exit_code"], said["events"]), (None, 5, 0))
        self.assertIn(f"error {said['error']['id']}: {said['error']['text'].splitlines()[0]}", done.stderr)
        self.assertIn("recover", said["error"]["hint"])
        self.assertEqual(list((self.home / "scratch").glob("*/*.missed")), [])
        shutil.rmtree(self.out)
        for _ in range(2):
            subprocess.run([self.SPSCOPE, "recover", self.out, "-o", self.out, "--force"], env=self.environment, check=True,
                           stdout=subprocess.DEVNULL)
            self.assertEqual(self.value("SELECT count(*) FROM incident WHERE message LIKE 'attach did not collect %'"), 1)

    def test_what_an_earlier_attach_left_stays_found(self):
        """Where nothing came of the next one, OUT leads to the earlier one's folder as before."""
        note = Path(f"{self.out}.collecting")
        with subprocess.Popen(self.command(PROGRAM, "init", "sleep", 300), env=self.environment) as process:
            while not note.exists():
                time.sleep(0.01)
            process.kill()
        left = note.read_text()
        subprocess.run(self.command("true"), env=self.environment, check=True)
        self.assertEqual(note.read_text(), left)

    def test_nobody_reads_what_attach_says(self):
        """Neither notes nor JSON: the program goes on and its exit code is kept. It is ended by broken pipes as ever."""
        for words, code in ((("--json", PROGRAM, "init", "sleep", 300, "exit", 3), 3),
                            (("--json", "sh", "-c", "sleep 0.3; yes; exit 4"), 4),
                            (("sh", "-c", "sleep 0.3; exec yes"), -signal.SIGPIPE)):
            with self.subTest(words=words):
                reader, writer = os.pipe()
                with subprocess.Popen(self.command(*words), stdout=writer, stderr=writer, env=self.environment) as process:
                    os.close(writer)
                    os.close(reader)
                    self.assertEqual(process.wait(timeout=60), code)
                self.assertEqual(self.out.exists(), PROGRAM in words)
                self.out.unlink(missing_ok=True)

    def test_json_that_cannot_be_written(self):
        """That is said. The exit code is the program's, and the file is whole."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(self.command("--json", PROGRAM, "init", "sleep", 100, "exit", 3), stdout=full, check=False,
                                  stderr=subprocess.PIPE, text=True, env=self.environment, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error SPS-154: cannot write to standard output", done.stderr)
        self.assertEqual(self.value("SELECT count(*) FROM event"), sum(self.published().values()))

    def test_ends_of_children_that_are_ignored(self):
        """As daemons hand it on. The program ignores them as well, and attach sees its end."""
        command = self.command("grep", "-sh", "SigIgn", "/proc/self/status", "/no/such/file")
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=60, check=False,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(int(done.stdout.split()[1], 16) & 1 << signal.SIGCHLD - 1, done.stdout)

    def test_another_injection_is_left_alone(self):
        self.environment.update(CUDA_INJECTION64_PATH="/of/another/tool.so", NCCL_PROFILER_PLUGIN="inspector",
                                NVTX_INJECTION64_PATH="/of/libcupti.so")
        done = self.attach(PROGRAM, "init", "exit", 3, code=3)
        self.assertIn("CUDA_INJECTION64_PATH is set to \"/of/another/tool.so\"", done.stderr)
        self.assertIn("NCCL_PROFILER_PLUGIN is set to \"inspector\"", done.stderr)
        has_driver = subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], check=False,
                                    stderr=subprocess.DEVNULL, env=self.environment).returncode == 0
        self.assertEqual(has_driver, "has no CUDA driver" not in done.stderr.splitlines()[0], "what matters most is first")
        self.assertRegex(done.stderr, r'NVTX_INJECTION64_PATH is set to "/of/libcupti.so".*Unset the variable, and attach chooses')
        self.assertFalse(self.out.exists())

    def test_a_path_that_nccl_would_cut(self):
        deep = self.home / ("d" * 130) / ("e" * 130)
        deep.mkdir(parents=True)
        for folder in ("bin", "lib"):
            shutil.move(self.home / folder, deep)
        command = self.command("sh", "-c", "echo NCCL:$NCCL_PROFILER_PLUGIN CUDA:$CUDA_INJECTION64_PATH")
        done = subprocess.run([deep / "bin/spscope", *command[1:]], capture_output=True, text=True, env=self.environment,
                              timeout=60, check=True)
        self.assertEqual(done.stdout, f"NCCL: CUDA:{deep}/lib/spscope/libspscope_inject.so\n")
        self.assertIn("attach leaves NCCL_PROFILER_PLUGIN unset", done.stderr)
        self.assertIn("only 254 are read there", done.stderr)

    def test_why_devices_were_idle(self):
        """The recipe of the document, of a process without a rank, one with a rank and its child, which number their calls
        alike."""
        self.environment["SPSCOPE_SCRIPT"] += " calls=1"
        self.attach("sh", "-c", "\"$@\" & RANK=0 \"$@\" fork exec init sleep 300 & wait", "sh", PROGRAM, "init", "sleep",
                    300)
        text = (Path(__file__).parents[2] / "schemas/questions.md").read_text("utf-8")
        recipe = re.search(r"^### 12\. .*?^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
        idle = {(row["rank"], row["process"], row["cause"]): int(row["idle_ns"]) for row in self.rows(recipe)}
        kernels = self.rows("SELECT e.rank, process, count(*) AS number, max(end_ns) - min(begin_ns) AS length_ns FROM "
                            "event e JOIN track USING (track_id) WHERE category = 'kernel' GROUP BY process")
        self.assertEqual(sorted(row["rank"] for row in kernels), ["", "0", "0"])
        expected = {}
        for row in kernels:
            number, length_ns = int(row["number"]), int(row["length_ns"])
            queued_ns = 2000 * (number - 1)  # before the first of them the device is not idle yet
            expected[row["rank"], row["process"], "queued"] = queued_ns
            expected[row["rank"], row["process"], "host"] = length_ns - 1000 * number - queued_ns
        self.assertEqual(idle, expected)

    def test_what_was_held_back_is_said(self):
        """Of a process that calls no exit handlers, and of no other."""
        self.environment["LOCAL_RANK"] = "2"
        script = "\"$@\" exit 0; \"$@\" quit 0"
        done = self.attach("sh", "-c", script, "sh", PROGRAM, "init", "sleep", 50)
        incidents = self.rows("SELECT rank, kind, message FROM incident")
        self.assertEqual([(i["rank"], i["kind"]) for i in incidents], [("2", "4")])
        self.assertRegex(incidents[0]["message"], r"init sleep 50 quit 0 \(process \d+\): it ended without handing over")
        self.assertIn(incidents[0]["message"], done.stderr)

    def test_signals_reach_the_program(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            process = subprocess.Popen(self.command(PROGRAM, "init", "signals", "exit", 5), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=self.environment)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            said, errors = process.communicate(timeout=60)
            self.assertEqual((said, process.returncode), (f"signal {int(number)}\n", 5), errors)
            self.out.unlink(missing_ok=True)  # it may end before its first event

    def test_program_that_is_not_there(self):
        self.environment["NCCL_PROFILER_PLUGIN"] = "inspector"  # what is said of it is for programs that start
        for _ in range(2):
            done = self.attach("no-such-program", code=2)
            self.assertRegex(done.stderr, r'^error SPS-127: the program could not be started: "no-such-program": No such file')
            Path(self.library).unlink(missing_ok=True)  # of both, the program is the user's own mistake

    def test_forked_child_is_off(self):
        """Its rank, what it sends and its end are not those of its parent, which goes on to publish."""
        self.environment["SPSCOPE_SCRIPT"] = "every_us=100"
        self.attach(PROGRAM, "init", "sleep", 100, "fork", "init", "set", "RANK", 3, "scribble", "sleep", 100, "exit", 4, code=4)
        (published,) = self.published().values()
        self.assertEqual([(t["rank"], int(t["events"])) for t in self.rows(TRACKS)], [("", published)])
        self.assertEqual(self.rows("SELECT message FROM incident"), [])

    def test_an_idle_process_wakes_hardly_a_thread(self):
        """Neither of its library nor of attach."""
        self.environment.update(SPSCOPE_FAKE_NVML="fail=nvmlInit_v2:9", LD_LIBRARY_PATH=FAKE_NVML)
        command = self.command(PROGRAM, "init", "print", "ready", "sleep", 4000)
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as attach:
            attach.stdout.readline()
            wakes = []
            for wait in (2, 1):
                time.sleep(wait)
                threads = [task for pid in (attach.pid, *self.published()) for task in Path(f"/proc/{pid}/task").iterdir()]
                said = "".join((thread / "status").read_text() for thread in threads)
                wakes.append(sum(map(int, re.findall(r"^voluntary_ctxt_switches:\s+(\d+)$", said, re.MULTILINE))))
        self.assertLess(wakes[1] - wakes[0], 40)
        self.assertEqual(sum(int(t["events"]) for t in self.rows(TRACKS)), sum(self.published().values()))

    def test_programs_of_one_process_have_names_of_their_own(self):
        """Here names are cut before they differ."""
        words = (PROGRAM, "init", "set", "NAME", "x" * 50, "sleep", 100, "exec", "init", "set", "NAME", "x" * 50, "sleep", 100)
        said = json.loads(self.attach("--json", *words).stdout.splitlines()[-1])
        first, second = (row["process"] for row in said["collectors"] if row["name"] == "scripted")
        self.assertEqual(second, first.replace(")", ", program 2)"))
        self.assertEqual([row["process"] for row in self.rows(TRACKS)], [first, second])

    def test_ranks_of_launchers(self):
        """The first of them counts: a batch script of Slurm has a rank of its own."""
        for rank, name in enumerate(reversed(RANKS)):
            self.environment[name] = str(rank)
            self.attach(PROGRAM, "init", "sleep", 50)
            self.assertEqual([t["rank"] for t in self.rows(TRACKS)], [str(rank)], name)
            self.out.unlink()

    def test_what_lives_on_is_not_waited_for(self):
        """One of two processes ends; the other publishes for as long as it lives."""
        self.environment["SPSCOPE_SCRIPT"] = "every_us=50"
        self.addCleanup(self.kill_all)
        script = "\"$@\" sleep 30000 > /dev/null 2>&1 & \"$@\" sleep 500"
        begin = time.monotonic()
        done = self.attach("sh", "-c", script, "sh", PROGRAM, "init")
        self.assertLess(time.monotonic() - begin, 15)
        self.assertIn("1 of its processes that collect go on", done.stderr)
        self.assertEqual(len(self.rows(TRACKS)), 2)

    def kill_all(self):
        for pid in self.published():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_counters_that_start_slowly_keep_no_process_waiting(self):
        gate = self.home / "gate"
        self.environment.update(SPSCOPE_FAKE_NVML=f"gate={gate}", LD_LIBRARY_PATH=FAKE_NVML)
        script = f"\"$@\"; \"$@\"; touch '{gate}'"
        done = self.attach("sh", "-c", script, "sh", PROGRAM, "init", "sleep", 50)
        self.assertEqual(len(self.published()), 2, done.stderr)
        counters = self.rows("SELECT count(*) AS tracks FROM track WHERE name = 'GPU 0 power (W)'")
        self.assertEqual(counters, [{"tracks": "1"}])

    def test_a_shard_that_is_written_slowly_keeps_no_process_waiting(self):
        """The pipe that commits are told to is full until the second process has begun. What the first says of its rank belongs
        into that shard."""
        pipe = self.home / "told"
        os.mkfifo(pipe)
        told = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, told)
        fcntl.fcntl(told, fcntl.F_SETPIPE_SZ, 4096)
        os.write(told, b"x" * 4096)
        command = self.command("--acknowledge", pipe, "sh", "-c", "\"$@\"; \"$@\"", "sh", PROGRAM, "init", "sleep", 200, "set", "RANK",
                               1)
        with subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + 30
            while process.poll() is None:
                if len(self.published()) == 2 or time.monotonic() > until:
                    with contextlib.suppress(BlockingIOError):
                        os.read(told, 4096)
                time.sleep(0.001)
        self.assertLess(time.monotonic(), until)
        self.assertEqual(sum(int(t["events"]) for t in self.rows(TRACKS)), sum(self.published().values()))

    def test_signals_do_not_keep_a_process_from_being_collected(self):
        """attach is stopped, so that the process waits for its answer."""
        script = "kill -STOP $PPID; (sleep 0.3; kill -CONT $PPID) & exec \"$@\""
        done = self.attach("sh", "-c", script, "sh", PROGRAM, "alarms", "init", "sleep", 100)
        self.assertEqual(len(self.published()), 1, done.stderr)

    def test_a_process_that_was_not_answered_is_named(self):
        script = "kill -STOP $PPID; \"$@\" & sleep 1; kill -KILL $!; wait; kill -CONT $PPID"
        done = self.attach("sh", "-c", script, "sh", PROGRAM, "init", "sleep", 100)
        self.assertRegex(done.stderr, r"process \d+: not collected: it did not wait for the answer")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
