"""Programs under `spscope attach` on a machine that is short of something, or that others use, too: whatever it is, output and
exit code stay the program's, and each event is in the file or counted.

Usage: pressure_test.py SPSCOPE PROGRAM LIBRARY [CLASS...] [--processes N] [--live N] [--files N]
"""
import argparse
import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from attached import HAS_MOUNTS, Attached, Scripted

parser = argparse.ArgumentParser()
for name in ("spscope", "program", "library"):
    parser.add_argument(name, type=lambda path: str(Path(path).resolve()))
parser.add_argument("classes", nargs="*")
parser.add_argument("--processes", type=int, default=1200, help="of WideTest, in all")
parser.add_argument("--live", type=int, default=400, help="of them at once")
parser.add_argument("--files", type=int, default=256, help="that attach may open")
OPTIONS = parser.parse_args()
Attached.SPSCOPE, PROGRAM, Attached.LIBRARY = OPTIONS.spscope, OPTIONS.program, OPTIONS.library
# Starts so many programs in all, so many at once, which wait for one another, and ends them by a signal.
IN_ROUNDS = """import os, signal, subprocess, sys
left, live = int(sys.argv[1]), int(sys.argv[2])
while left > 0:
    reader, writer = os.pipe()
    programs = [subprocess.Popen(sys.argv[3:], stdout=writer) for _ in range(min(left, live))]
    os.close(writer)
    with os.fdopen(reader) as lines:
        for _ in programs:
            assert next(lines) == "ready\\n"
        for program in programs:
            program.send_signal(signal.SIGUSR1)
        for program in programs:
            program.wait()
    left -= len(programs)"""
ACCEPT = {"x86_64": 288, "aarch64": 242}.get(os.uname().machine)  # the number of accept4()


def fail_accept():
    """accept4() gives ENOBUFS from now on."""
    load, jump_if_equal, end, allow, fail = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
    code = [(load, 0, 0, 0), (jump_if_equal, 0, 1, ACCEPT), (end, 0, 0, fail | errno.ENOBUFS), (end, 0, 0, allow)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(filters)))
    set_no_new_privileges, set_seccomp, with_filter = 38, 22, 2
    for words in ((set_no_new_privileges, 1, 0, 0, 0), (set_seccomp, with_filter, program, 0, 0)):
        if ctypes.CDLL(None, use_errno=True).prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


class Stored(Scripted):
    def stored(self):
        """As published()."""
        rows = self.rows("SELECT process, count(*) AS events FROM event JOIN track USING (track_id) GROUP BY process")
        return {int(row["process"].rsplit(" ", 1)[1].rstrip(")")): int(row["events"]) for row in rows}


class PressureTest(Stored):
    def start(self, *words, run="\"$@\"", without_accept=False):
        """attach, whose program waits until go() is called and then runs as `run` says; and the name of its socket."""
        name = self.home / "name"
        script = ("echo $SPSCOPE_ATTACH > \"$0.new\"; mv \"$0.new\" \"$0\"; until [ -e \"$0.go\" ] || [ ! -e \"$0\" ]; do "
                  f"sleep 0.02; done; {run}")
        attach = subprocess.Popen(self.command("sh", "-c", script, name, PROGRAM, *words), stderr=subprocess.PIPE, text=True,
                                  env=self.environment, preexec_fn=fail_accept if without_accept else None)
        self.addCleanup(attach.kill)
        while not name.exists():
            self.assertIsNone(attach.poll())
            time.sleep(0.01)
        return attach, name.read_text().strip()

    def children(self, pid):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def go(self):
        (self.home / "name.go").touch()

    @unittest.skipIf(os.geteuid() != 0, "only root has processes of other users")
    def test_strangers_take_neither_time_nor_events(self):
        self.environment["SPSCOPE_SCRIPT"] = "threads=4 every_us=100"
        attach, name = self.start("init", "sleep", 700, "exit", 3)
        for _ in range(3):
            self.start_stranger(name)
        time.sleep(0.3)
        self.go()
        _, said = attach.communicate(timeout=10)
        self.assertEqual((attach.returncode, said.count("another user")), (3, 1), said)
        self.assertEqual(self.stored(), self.published())
        self.assertEqual(self.value("SELECT sum(dropped) FROM ledger"), 0)

    def test_silent_connections_keep_nobody_waiting(self):
        attach, name = self.start("init", "sleep", 50)
        for _ in range(8):
            silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(silent.close)
            silent.connect("\0" + name)
        begin = time.monotonic()
        self.go()
        attach.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(self.stored(), self.published())

    def test_those_whom_nobody_hears_are_counted(self):
        """attach is stopped, and as many wait for it as can: the program waits behind them until it goes on by itself, also
        where it was stopped meanwhile. The backlog is full when the program has ended. A process whose environment leads to
        another file than that of attach writes nothing there. One that may write no file ends as it would without attach."""
        other = self.home / "other"
        other.touch()
        astray = f"SPSCOPE_ATTACH_MISSED=$(echo $SPSCOPE_ATTACH_MISSED | sed 's|/.*|{other}|') \"$@\" &"
        limited = "(ulimit -f 0; exec \"$@\") & limited=$!"
        attach, name = self.start("init", "exit", 3, run=f"{astray} {limited}; \"$@\"; code=$?; wait $limited; "
                                  "[ $? = $code ] || code=99; wait; exit $code")
        os.kill(attach.pid, signal.SIGSTOP)
        asked = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                    one.setblocking(False)
                    one.connect("\0" + name)
                asked += 1
        self.go()
        (shell,) = self.children(attach.pid)
        while ") Z " not in Path("/proc", shell, "stat").read_text():
            for pid in self.children(shell):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGSTOP)
                    os.kill(int(pid), signal.SIGCONT)
            time.sleep(0.5)
        os.kill(attach.pid, signal.SIGCONT)
        _, said = attach.communicate(timeout=60)
        self.assertEqual(attach.returncode, 3, said)
        self.assertRegex(said, r"cuda_program \(process \d+\): not collected: it waited 5 s and nobody heard it; ")
        self.assertIn(f" {asked + 1} processes that started CUDA could not be collected", said)
        self.assertEqual(other.read_text(), "")

    def test_a_process_that_finds_no_attach_is_named(self):
        """As in another network namespace: nobody has the name there. The file says so, also where attach was killed."""
        for end, code in (("exit 3", 3), ("kill -KILL $PPID", -signal.SIGKILL)):
            script = f"SPSCOPE_ATTACH=nobody \"$@\"; SPSCOPE_ATTACH=nobody \"$@\"; \"$@\" sleep 300; {end}"
            done = subprocess.run(self.command("sh", "-c", script, "sh", PROGRAM, "init"), stderr=subprocess.PIPE, text=True,
                                  env=self.environment, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            if code == 3:
                self.assertRegex(done.stderr, r"cuda_program \(process \d+\): not collected: nobody listened .* network namespace")
                self.assertIn("2 processes could not be collected", done.stderr)
            for _ in range(0 if code == 3 else 2):  # a second time, too
                subprocess.run([self.SPSCOPE, "recover", self.out, "-o", self.out, "--force"], env=self.environment, check=True,
                               stdout=subprocess.DEVNULL)
            (said,) = self.rows("SELECT message FROM incident WHERE message LIKE 'attach did not collect %'")
            self.assertRegex(said["message"], r"cuda_program \(process \d+\), nor 1 more like it: nobody listened")
            self.out.unlink()

    def test_notes_of_those_whom_nobody_heard_are_bounded(self):
        """Each is counted, also those whose lines are beyond what a piece of the file holds."""
        script = "seq 40000 | sed 's/$/ 11 worker/' >> \"${SPSCOPE_ATTACH_MISSED#*:*:}\""
        done = self.attach("--json", "sh", "-c", script)
        said = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(said["not_collected"], 40000)
        (note,) = [note for note in said["notes"] if "nobody heard it" in note["text"]]
        self.assertEqual(len(note["processes"]), 1000)
        self.assertIn("39000 more were not collected", done.stderr)

    @unittest.skipUnless(ACCEPT, "not known how this machine calls accept4()")
    def test_accept_that_fails_lastingly_keeps_attach_no_longer(self):
        """By a filter of system calls, which the program inherits and does not notice. It goes on by itself after 5 s."""
        attach, _ = self.start("init", "exit", 3, without_accept=True)
        self.go()
        _, said = attach.communicate(timeout=20)
        self.assertEqual(attach.returncode, 3, said)
        self.assertEqual(said.count("are not heard, nor counted, while accept() fails: No buffer space available"), 1, said)

    @unittest.skipUnless(HAS_MOUNTS, "no private mounts here (unshare)")
    def test_a_full_scratch_disk_keeps_what_was_collected_and_counts_the_rest(self):
        """A process goes on for some events after the disk is full. When there is room again, the command of the message makes a
        file of what was collected."""
        self.environment.update(SPSCOPE_SCRIPT="every_us=1000", OUT=str(self.out), SPSCOPE=self.SPSCOPE,
                                LD_LIBRARY_PATH=os.environ["FAKE_NVML"])
        program = ("\"$@\" & count() { od -An -tu8 \"$SPSCOPE_SCRIPT_COUNTS/$!\" 2>/dev/null || echo 0; }; "
                   "until [ $(count) -gt 100 ]; do sleep 0.02; done; cat /dev/zero > \"$TMPDIR/fill\"; full=$(count); "
                   "until [ $(count) -gt $((full + 200)) ]; do sleep 0.02; done; kill -USR1 $!; wait $!; exit 7")
        script = ("mount -t tmpfs -o size=16m tmpfs \"$TMPDIR\" || exit 77; \"$@\"; code=$?; rm \"$TMPDIR/fill\"; "
                  "[ ! -e \"$OUT\" ] && \"$SPSCOPE\" recover \"$OUT\" -o \"$OUT\" --json >\"$OUT.said\" || exit 99; exit $code")
        command = self.command("--json", "sh", "-c", program, "sh", PROGRAM, "init", "signals")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *command], capture_output=True, text=True,
                              timeout=120, check=False, env=self.environment)
        self.assertEqual(done.returncode, 7, done.stderr)
        said, recovered = json.loads(done.stdout.splitlines()[-1]), json.loads(Path(f"{self.out}.said").read_text("utf-8"))
        self.assertEqual((said["file"], said["exit_code"], said["error"]["id"]), (None, 7, "SPS-154"))
        self.assertTrue(said["error"]["text"].startswith(f'"{self.out}" was not made: cannot write'), said)
        self.assertIn("spscope recover", said["error"]["hint"])
        (published,) = self.published().values()
        samples = sum(row["records"] for row in said["collectors"] if row["name"] == "nvml")
        known = self.value("SELECT sum(sent) FROM ledger") + said["lost"]
        self.assertEqual((known, recovered["lost"]), (published + samples, said["lost"]))
        self.assertEqual(self.value("SELECT count(*) FROM incident WHERE message LIKE '% events were not stored, since%'"), 1)

    def test_processes_that_cannot_be_collected_are_counted_and_harm_none(self):
        """Ten at once are too many; the two after them are not."""
        self.environment["SPSCOPE_SCRIPT"] = "most=20 every_us=50"
        script = ("(for i in $(seq 10); do \"$@\" sleep 2500 & done; wait); sleep 0.5; export RANK=5; \"$@\" sleep 100; "
                  "\"$@\" sleep 100")
        done = self.attach("--json", "sh", "-c", script, "sh", PROGRAM, "init", limits="ulimit -n 40")
        said = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((said["processes"] + said["not_collected"], said["ranks"]), (12, [5]), done.stderr)
        self.assertGreater(said["not_collected"], 0)
        self.assertEqual((self.stored(), len(self.stored())), (self.published(), said["processes"]))
        self.assertEqual(self.value("SELECT count(*) FROM track WHERE rank = 5"), 2)
        self.assertRegex(done.stderr, r"not collected: .*Too many open files; raise the limit of open files \(ulimit -n\)")
        self.assertNotIn("File exists", done.stderr)
        self.assertGreater(self.value("SELECT count(*) FROM incident WHERE message LIKE 'attach did not collect %'"), 0)
        self.assertIn(f"  {said['not_collected']} processes could not be collected", done.stderr)

    def test_the_limit_of_open_files_is_raised_for_attach_alone(self):
        done = self.attach("sh", "-c", "sleep 0.3; ulimit -Sn; grep 'open files' /proc/$PPID/limits", limits="ulimit -Sn 64")
        of_program, of_attach = done.stdout.splitlines()
        self.assertEqual(of_program, "64")
        soft, hard = of_attach.split()[3:5]
        self.assertEqual(soft, hard)

    def test_a_limit_of_the_size_of_files_ends_nothing(self):
        """The program does not ignore what attach does."""
        words = ("grep SigIgn /proc/self/status; \"$@\"", "sh", PROGRAM, "init", "sleep", "50", "exit", "3")
        done = self.attach("sh", "-c", *words, code=3, limits="ulimit -f 2000")
        ignored = int(done.stdout.split()[1], 16)
        self.assertFalse(ignored & (1 << signal.SIGXFSZ - 1 | 1 << signal.SIGPIPE - 1), done.stdout)
        self.assertRegex(done.stderr, r"not collected: .*File too large; raise the limit of the size of files \(ulimit -f\)")
        self.assertIn("out.db\" was not made: 1 process that started CUDA could not be collected", done.stderr)

    def test_a_process_without_room_for_the_memory_is_named(self):
        done = self.attach("sh", "-c", "ulimit -v 120000; exec \"$@\"", "sh", PROGRAM, "init", "sleep", 50)
        self.assertRegex(done.stderr, r"cuda_program init sleep 50 \(process \d+\): not collected: it could not map .*: Cannot "
                         r"allocate memory; .*\(ulimit -v\)")
        self.assertIn("1 process that started CUDA could not be collected", done.stderr)

    def test_descriptors_that_a_program_closes_are_its_own_again(self):
        """Also of its child, and of the program that it becomes."""
        self.attach(PROGRAM, "init", "sleep", 100, "close-all", "pairs", 6, "talk", "sleep", 1200, "talk", "fork", "talk", "exec",
                    "init", "sleep", 100)
        self.assertEqual(self.value("SELECT count(DISTINCT process) FROM track"), 2)

    def test_what_a_program_writes_to_a_descriptor_that_it_does_not_know_ends_nothing(self):
        """Neither to the one that is free since it has closed its output, nor to that of the library."""
        self.environment["SPSCOPE_SCRIPT"] = "most=1000 every_us=100"
        self.attach("sh", "-c", "exec \"$@\" >&-", "sh", PROGRAM, "init", "print", "its line", "scribble", "sleep", 300)
        self.assertEqual((self.stored(), len(self.stored())), (self.published(), 1))


class WideTest(Stored):
    def test_more_processes_than_attach_may_open_files(self):
        """Each takes four files of attach while it lives. Those beyond that are counted, and the next ones are collected again."""
        self.environment["SPSCOPE_SCRIPT"] = "most=20 every_us=50"
        done = self.attach("--json", sys.executable, "-c", IN_ROUNDS, OPTIONS.processes, OPTIONS.live, PROGRAM, "init", "signals",
                           limits=f"ulimit -n {OPTIONS.files}")
        said = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(said["processes"] + said["not_collected"], OPTIONS.processes, done.stderr[-2000:])
        rounds = OPTIONS.processes // OPTIONS.live
        self.assertGreater(said["processes"], rounds * min(OPTIONS.live, OPTIONS.files // 4) // 2)
        self.assertIn("Too many open files", done.stderr)
        self.assertEqual(self.stored(), {pid: events for pid, events in self.published().items() if events > 0})

    def test_a_driver_that_never_answers_keeps_attach_no_longer(self):
        self.environment.update(SPSCOPE_FAKE_NVML=f"gate={self.home}/never", LD_LIBRARY_PATH=os.environ["FAKE_NVML"])
        begin = time.monotonic()
        done = self.attach(PROGRAM, "init", "sleep", 100)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("nvml: the driver did not answer for 5 s", done.stderr)
        self.assertEqual(self.value("SELECT count(*) FROM collector WHERE name = 'nvml'"), 1)
        self.assertEqual(self.stored(), self.published())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *OPTIONS.classes])
