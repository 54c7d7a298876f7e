"""Windows of `spscope attach` (--delay, --duration, --signal, --profiler-ranges) on the fakes: what begins inside is stored as in
a file of the whole, and nothing else. Programs number their calls from 1 on, whether they are recorded or not: a round of `work`
launches a kernel by its first call of four.

Usage: as collect_test.py
"""
import json
import os
import signal
import subprocess
import sys
import unittest

from collect_test import PROGRAM, CollectTest, cupti_of


def kernels_of(*rounds):
    """The calls that launch them, of rounds (first, last)."""
    return [4 * (number - 1) + 1 for first, last in rounds for number in range(first, last + 1)]


class WindowTest(CollectTest):
    def kernels(self):
        return [int(row["call"]) for row in
                self.rows("SELECT correlationId AS call FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY call")]

    def events(self):
        """Of all calls, without times."""
        return [tuple(row.values()) for row in self.rows(
            "SELECT correlation_id, category, name, bytes FROM event WHERE correlation_id > 0 ORDER BY 1, 2")]

    def start(self, *words):
        """attach, of whose program lines are read."""
        process = subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(process.kill)
        return process

    def test_ranges_of_the_profiler(self):
        """Until the first CUPTI records no kernel, and is back before the call returns."""
        for cuda in (11, 12, 13):
            with self.subTest(cuda=cuda):
                program = (PROGRAM, "open", cupti_of(cuda), "init")
                rest = ("work", 5, "range", "before", "nccl", 6, "reduce", 2, "profile", "Start", "on", "work", 6, "range",
                        "inside", "reduce", 3, "send", 1, "profile", "Stop", "work", 7, "range", "after", "reduce", 1,
                        "profile", "Start", "work", 2, "profile", "Stop", "work", 1, "leave")
                self.window = ()
                self.attach(*program, *rest)
                whole = self.events()
                self.window = ("--profiler-ranges",)
                done = self.attach("--json", *program, "off", *rest)
                kernels = kernels_of((6, 11), (19, 20))
                self.assertEqual(self.kernels(), kernels)
                inside = {str(call + i) for call in kernels for i in range(4)}
                self.assertEqual(self.events(), [event for event in whole if event[0] in inside])
                self.assertEqual(self.stored_ranges(), ["inside"])
                operations = self.rows("SELECT name, sequence FROM event WHERE transfer_begin_ns IS NOT NULL ORDER BY begin_ns")
                self.assertEqual([(row["name"].split()[0], row["sequence"]) for row in operations],
                                 [("AllReduce", "2"), ("AllReduce", "3"), ("AllReduce", "4"), ("Send", "-1")])
                self.assertEqual(self.told()["fault"], "")
                self.assertRegex(done.stderr, r"  collected from [\d.]+ s to [\d.]+ s and from [\d.]+ s to [\d.]+ s\n")
                said = json.loads(done.stdout.splitlines()[-1])
                self.assertEqual((len(said["windows"]), said["dropped"]), (2, 0))
                text = subprocess.run([self.SPSCOPE, "doctor", self.out], capture_output=True, text=True, check=False).stdout
                self.assertRegex(text, r"collected +from [\d.]+ s to .* of the program")
                self.expect_balance()

    def windows(self):
        """Of the file, the end of an open one as None."""
        (row,) = self.rows("SELECT value FROM meta WHERE key = 'collected_ns'")
        return [tuple(int(time) if time else None for time in window.split("-")) for window in row["value"].split()]

    def test_the_first_of_many_ranges_is_known(self):
        """Of more than attach and the process remember."""
        self.window = ("--profiler-ranges",)
        self.attach(PROGRAM, "open", cupti_of(13), "init", "profile", "Start", "work", 3, "profile", "Stop",
                    *("profile", "Start", "profile", "Stop") * 4200)
        (times,) = self.rows("SELECT min(start) AS first, max(start) AS last FROM CUPTI_ACTIVITY_KIND_KERNEL")
        begin_ns, end_ns = self.windows()[0]
        self.assertTrue(begin_ns <= int(times["first"]) and int(times["last"]) < end_ns, times)

    def test_recover_knows_the_ranges(self):
        self.window = ("--profiler-ranges",)
        attach = self.start(PROGRAM, "open", cupti_of(13), "init", "off", "profile", "Start", "work", 3, "profile", "Stop",
                            "profile", "Start", "work", 2, "sleep", 10000)
        query = "SELECT 1 FROM meta WHERE key = 'process_windows' AND value LIKE '%-% %-' AND EXISTS (SELECT 1 FROM chunk)"
        self.kill_and_recover(attach, query, 1)
        (first, second) = self.windows()
        self.assertTrue(first[0] < first[1] < second[0] and second[1] is None, (first, second))

    def test_a_range_that_begins_while_collectors_are_turned_off(self):
        """A second after the one before. CUPTI holds a lock while it calls back, and needs it to turn them off."""
        self.window = ("--profiler-ranges",)
        self.environment["SPSCOPE_FAKE_CUPTI"] = "slow_ms=50"
        again = ("sleep", 1150, "profile", "Start", "work", 2, "profile", "Stop")
        self.attach(PROGRAM, "open", cupti_of(13), "init", "off", "profile", "Start", "work", 3, "profile", "Stop", *again, *again)
        self.assertEqual(len(self.windows()), 3)

    @unittest.skipIf(os.environ.get("SPSCOPE_SANITIZED"), "records that a slow program loses are missing in the file of the whole")
    def test_a_sixtieth_takes_a_sixtieth(self):
        """Of the file of the whole, beyond a file without events. Scattered times pack worse in few events than in many."""
        sizes = []
        for words in ("work 60000", "off work 59000 profile Start on work 1000 profile Stop",
                      "off profile Start on work 1 profile Stop"):
            self.window = ("--profiler-ranges",) if "profile" in words else ()
            self.attach(PROGRAM, "open", cupti_of(13), "init", *words.split())
            sizes.append(self.out.stat().st_size)
        whole, part, least = sizes
        self.assertLessEqual(part - least, 1.6 / 60 * whole, sizes)

    def test_a_signal_opens_and_closes(self):
        """The second time, too. The program does not get it. Counters of the GPUs rest outside."""
        self.window = ("--signal", "USR1")
        self.environment["LD_LIBRARY_PATH"] = os.environ["FAKE_NVML"]
        attach = self.start(PROGRAM, "open", cupti_of(13), "init", "off", "work", 5, "print", "ready", "on", "sleep", 150, "work",
                            20, "print", "worked", "off", "work", 7, "print", "ready", "on", "sleep", 150, "work", 11, "print",
                            "worked", "off", "work", 3, "exit", 6)
        for line in ("ready", "worked") * 2:
            self.assertEqual(attach.stdout.readline(), f"{line}\n")
            attach.send_signal(signal.SIGUSR1)
        _, said = attach.communicate(timeout=100)
        self.assertEqual(attach.returncode, 6, said)
        self.assertEqual(self.kernels(), kernels_of((6, 25), (33, 43)))
        samples = [int(row["time_ns"]) for row in self.rows("SELECT time_ns FROM counter")]
        self.assertEqual([at for at in samples if not any(begin <= at < end for begin, end in self.windows())], [])
        self.assertIn(f"spscope attach: kill -USR1 {attach.pid} starts and ends collecting\n", said)
        self.assertEqual((said.count("collecting now; "), said.count("collecting has ended; ")), (2, 2), said)
        self.assertRegex(said, r"  collected from [\d.]+ s to [\d.]+ s and from [\d.]+ s to [\d.]+ s\n")

    def test_delay_and_duration(self):
        """By the begins of all kernels, as the fake driver has them. A thread without a core may begin late, and says so."""
        log = self.home / "kernels"
        self.environment["SPSCOPE_FAKE_CUPTI_KERNELS"] = str(log)
        self.window = ("--delay", "2", "--duration", "0.5")
        done = self.attach(PROGRAM, "open", cupti_of(13), "init", "steady")
        kernels = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
        begins = {call: begin_ns for call, begin_ns, _ in kernels}
        stored = {int(row["call"]): int(row["start"]) for row in
                  self.rows("SELECT correlationId AS call, start FROM CUPTI_ACTIVITY_KIND_KERNEL")}
        (zero_ns,) = {begins[call] - start for call, start in stored.items()}
        self.assertEqual(self.windows(), [(2_000_000_000, 2_500_000_000)])
        inside = {call for call, begin_ns, recorded in kernels
                  if 2_000_000_000 <= begin_ns - zero_ns < 2_500_000_000 and (recorded or "began to collect" not in done.stderr)}
        self.assertEqual(set(stored), inside)
        self.assertGreater(len(begins), len(inside))
        self.assertIn("  collected from 2.000 s to 2.500 s\n", done.stderr)
        report = subprocess.run([self.SPSCOPE, "report", self.out], capture_output=True, text=True, check=True).stdout
        self.assertIn("collected from 2.000 s to 2.500 s", report)

    def test_processes_that_start_inside_and_after(self):
        self.window = ("--signal", "USR2")
        gate = self.home / "gate"
        script = ("\"$@\" off print ready on sleep 150 work 4; \"$@\" work 6 print inside; until [ -e \"$0\" ]; do sleep 0.02; "
                  "done; \"$@\" work 2 off work 9")
        attach = self.start("--json", "sh", "-c", script, gate, PROGRAM, "open", cupti_of(13), "init")
        for line in ("ready", "inside"):
            self.assertEqual(attach.stdout.readline(), f"{line}\n")
            attach.send_signal(signal.SIGUSR2)
        for line in attach.stderr:
            if "collecting has ended" in line:
                break
        gate.touch()
        out, said = attach.communicate(timeout=100)
        self.assertEqual(json.loads(out.splitlines()[-1])["processes"], 3, said)
        counts = self.rows("SELECT count(*) AS kernels FROM event JOIN track USING (track_id) WHERE category = 'kernel' "
                           "GROUP BY process ORDER BY 1")
        self.assertEqual([row["kernels"] for row in counts], ["4", "6"])

    def test_a_window_that_never_opened(self):
        for window, why in ((("--delay", "600"), "the program ended before the 600 s of --delay were over"),
                            (("--signal", "USR1"), "attach did not get USR1, which starts collecting: send it by kill -USR1"),
                            (("--profiler-ranges",), "no process called cudaProfilerStart(), after which attach collects")):
            with self.subTest(window=window):
                self.window = window
                done = self.attach(PROGRAM, "open", cupti_of(13), "init", "work", 3, "exit", 4, code=4)
                self.assertIn(f"out.db\" was not made: {why}", done.stderr)
                self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
