"""Programs under `spscope attach` with the library and the collectors that users have, on fakes of the driver, of CUPTI and
of NCCL: what the fakes say that they did is in the file once, or counted, and every failure says why and what to do.

Usage: collect_test.py SPSCOPE PROGRAM LIBRARY CUPTI_FOLDER RUNTIME
CUPTI_FOLDER holds the fake CUPTI of CUDA N as N/libcupti.so.N; RUNTIME is a library that stands for the CUDA runtime.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from attached import Attached

Attached.SPSCOPE, PROGRAM, Attached.LIBRARY, CUPTI, RUNTIME = (str(Path(path).resolve()) for path in sys.argv[1:6])
COLLECTIVES = "FROM event WHERE transfer_begin_ns IS NOT NULL"
# ThreadSanitizer cannot follow threads that such a child starts, either.
forked_child_goes_on = unittest.skipIf(os.environ.get("SPSCOPE_SANITIZED"), "the child of a fork may wait for a lock of the "
                                       "sanitizer's allocator that a thread held which the child does not have")


def cupti_of(cuda):
    return f"{CUPTI}/{cuda}/libcupti.so.{cuda}"


class CollectTest(Attached):
    def setUp(self):
        super().setUp()
        self.report = self.home / "report"
        self.environment["SPSCOPE_FAKE_CUPTI_REPORT"] = str(self.report)
        self.environment.pop("LD_LIBRARY_PATH", None)

    def runtime_with_cupti(self, cuda):
        """The path of the runtime of a toolkit, which has a CUPTI."""
        toolkit = self.home / f"cuda-{cuda}/lib64"
        toolkit.mkdir(parents=True)
        cupti = toolkit.parent / "extras/CUPTI/lib64"
        cupti.mkdir(parents=True)
        shutil.copy(cupti_of(cuda), cupti)
        return shutil.copy(RUNTIME, toolkit / f"libcudart.so.{cuda}")

    def attach(self, *words, code=0):
        """Anew: nothing is left of an earlier one."""
        self.report.unlink(missing_ok=True)
        self.out.unlink(missing_ok=True)
        return super().attach(*words, code=code)

    # -- judging

    def told(self):
        """What the fakes did, by the one process that had them."""
        (line,) = self.report.read_text().splitlines()
        return json.loads(line)

    def expect_balance(self):
        self.assertEqual(self.rows("SELECT * FROM ledger WHERE sent != stored + dropped + unreadable + lost"), [])
        said = subprocess.run([self.SPSCOPE, "doctor", self.out], capture_output=True, text=True, check=False).stdout
        self.assertIn("right in all chunks", said)
        for row in self.rows("SELECT name, process, records, thread_ns, outcome FROM collector"):
            what = ("nothing to collect" if row["records"] == row["thread_ns"] == "0" else f"{row['records']} records?, ",
                    f"at least {row['records']} records, ", "did not collect: ")[int(row["outcome"])]
            self.assertRegex(said, f"collector {row['name']} .*{re.escape(row['process'])}.*{what}")

    def num_collectives(self):
        return self.value(f"SELECT count(*) {COLLECTIVES}")

    def stored_ranges(self):
        return [row["text"] for row in self.rows("SELECT text FROM NVTX_EVENTS WHERE category = 13 ORDER BY start")]

    def cost(self, name):
        (cost,) = self.rows(f"SELECT * FROM collector WHERE name = '{name}'")
        return cost

    def expect_work(self):
        """Each piece of work is stored once."""
        told = self.told()
        self.assertEqual(told["fault"], "", "a rule of CUPTI was broken")
        for what, view in (("kernels", "KERNEL"), ("copies", "MEMCPY"), ("memsets", "MEMSET"),
                           ("waits", "SYNCHRONIZATION")):
            self.assertGreater(told[what], 0)
            self.assertEqual(self.value(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{view}"), told[what], what)
        self.assertEqual(self.value("SELECT count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
                         told["kernels"])
        cost = self.cost("cupti")
        self.assertEqual((int(cost["records"]), int(cost["dropped"])), (told["records"], 0), cost)
        self.assertGreater(int(cost["memory_bytes"]), 0)
        self.assertEqual(self.value("SELECT sum(sent - stored) FROM ledger"), 0)
        self.expect_balance()


class Cupti(CollectTest):
    def test_work_and_ranges_of_each_cuda_are_stored_once(self):
        for cuda in (11, 12, 13):
            with self.subTest(cuda=cuda):
                done = self.attach(PROGRAM, "open", cupti_of(cuda), "init", "range", "step 1", "work", 200, "range",
                                   "model: layer 3", "print", "its line", "exit", 7, code=7)
                self.assertEqual(done.stdout, "range step 1 at level 0\nrange model: layer 3 at level 0\nits line\n")
                self.assertEqual(self.stored_ranges(), ["step 1", "model: layer 3"])
                self.expect_work()
                self.assertIn("cupti: ", done.stderr)
                self.assertIn("none lost", done.stderr)
                self.assertNotIn("NVTX", done.stderr)

    def test_lost_records_are_counted_and_explained(self):
        cause, remedy = "records are missing: CUPTI had no buffer", "a core left free"
        self.environment["SPSCOPE_FAKE_CUPTI"] = "drop=7"
        done = self.attach(PROGRAM, "open", cupti_of(13), "init", "work", 100, "sleep", 300, "work", 100, "exit", 3, code=3)
        self.assertIn(cause, done.stderr)
        self.assertIn(remedy, done.stderr)
        told, cost = self.told(), self.cost("cupti")
        self.assertEqual(told["fault"], "")
        self.assertIn(cause, cost["notes"])
        self.assertEqual(int(cost["records"]) + int(cost["dropped"]), told["records"], cost)
        self.assertGreater(int(cost["dropped"]), 0)
        self.assertEqual(self.value("SELECT sum(dropped + unreadable) FROM ledger"), int(cost["dropped"]))
        self.expect_balance()

    def test_cupti_that_cannot_collect_leaves_the_rest(self):
        """The message names cause and remedy, the program goes on, and NCCL is collected."""
        self.environment["SPSCOPE_FAKE_CUPTI"] = "other=torch.profiler"
        done = self.attach(PROGRAM, "open", cupti_of(13), "init", "work", 10, "nccl", 6, "reduce", 5, "leave",
                           "print", "goes on", "exit", 4, code=4)
        self.assertIn("goes on\n", done.stdout)
        self.assertEqual(self.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 0)
        self.assertEqual(self.num_collectives(), 5)
        refused, nccl = self.rows("SELECT name, outcome, notes FROM collector WHERE name != 'nvml' ORDER BY 1")
        self.assertEqual([(row["name"], row["outcome"]) for row in (refused, nccl)], [("cupti", "2"), ("nccl", "0")])
        for words in ("\"torch.profiler\" traces this process already", "run without torch.profiler"):
            self.assertIn(words, refused["notes"])
        self.assertIn(f"  cupti: did not collect: {refused['notes'].removeprefix('cupti: ')}\n", done.stderr)
        self.expect_balance()

    def test_a_range_of_the_profiler_ends_with_its_process(self):
        self.window = ("--profiler-ranges",)
        done = self.attach("--json", "sh", "-c", "\"$@\"; sleep 2", "sh", PROGRAM, "open", cupti_of(13), "init", "profile",
                           "Start", "work", 5, "sleep", 200, "quit", 0)
        (window,) = json.loads(done.stdout.splitlines()[-1])["windows"]
        self.assertLess(window["end_ns"] - window["begin_ns"], 2_000_000_000)

    def test_kill(self):
        """What was handed over by then is there, and what the collector had taken is known as of then."""
        for sleep in (2500, 400):  # the second mostly dies before it said what its collectors took
            with self.subTest(sleep=sleep):
                done = self.attach(PROGRAM, "open", cupti_of(12), "init", "work", 300, "sleep", sleep, "raise",
                                   int(signal.SIGKILL), code=-signal.SIGKILL)
                self.assertEqual(self.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 300)
                self.expect_balance()
                cost = self.cost("cupti")
                if sleep == 2500:
                    self.assertGreaterEqual(int(cost["records"]), 900)
                self.assertEqual(cost["outcome"], "1")
                self.assertIn("the process ended before the collector did", cost["notes"])
                self.assertIn(f"  cupti: at least {cost['records']} records, losses unknown", done.stderr)


class Nvtx(CollectTest):
    """Ranges of a program whose NVTX finds the injection library; it says how deep each is, -2 when it has no tool."""

    def test_first_range_before_the_driver(self):
        """Here only the runtime is mapped, and the CUPTI beside it is taken. From the start of the driver on ranges are stored."""
        done = self.attach(PROGRAM, "open", self.runtime_with_cupti(13), "range", "early", "init", "work", 5, "range",
                           "later")
        self.assertEqual(done.stdout.count("at level 0"), 2, done.stdout)
        self.assertEqual(self.stored_ranges(), ["later"])
        self.expect_work()

    @forked_child_goes_on
    def test_each_library_has_nvtx_of_its_own_and_a_forked_child_none(self):
        """That of a library stays when it is unloaded, since the child of a fork takes CUPTI out of it."""
        done = self.attach(PROGRAM, "open", cupti_of(12), "init", "range", "parent", "range-of", RUNTIME, "of a library",
                           "fork", "range", "child", "range", "dom: child", "range-of", RUNTIME, "child", "exit", 9, code=9)
        self.assertEqual(done.stdout.count("at level -2"), 3, done.stdout)
        self.assertEqual(self.stored_ranges(), ["parent", "of a library"])

    @forked_child_goes_on
    def test_child_that_starts_the_driver_itself(self):
        """Its ranges are stored where the parent has used none, whose functions the child must not call."""
        for before, found in (((), ["child"]), (("range", "parent"), [])):
            with self.subTest(before=before):
                done = self.attach(PROGRAM, "open", cupti_of(12), *before, "fork", "init", "work", 5, "range", "child",
                                   "range-of", RUNTIME, "of a library")
                self.assertEqual(self.stored_ranges(), [*found, "of a library"] if found else [])
                self.assertEqual("NVTX ranges: this process was forked by one that had used NVTX" in done.stderr, not found)

    @forked_child_goes_on
    def test_child_that_is_forked_after_the_session_is_off(self):
        """Here attach was killed, and the program went on."""
        command = self.command(PROGRAM, "open", cupti_of(13), "init", "range", "parent", "sleep", 1000, "fork", "range",
                               "child")
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as process:
            self.assertIn("parent at level 0", process.stdout.readline())
            process.kill()
            self.assertIn("child at level -2", process.stdout.read())

    def test_another_injection_is_left_alone(self):
        """Here libcupti itself, as who used it before did."""
        self.environment["NVTX_INJECTION64_PATH"] = cupti_of(12)
        self.attach(PROGRAM, "open", cupti_of(12), "init", "range", "step")
        self.assertEqual(self.stored_ranges(), ["step"])

    def test_no_cupti_for_the_first_range(self):
        """None is loaded for it, though the loader would find one, and NVTX does not ask again."""
        self.environment["LD_LIBRARY_PATH"] = str(Path(cupti_of(13)).parent)
        done = self.attach(PROGRAM, "range", "early", "mapped", "libcupti", "open", cupti_of(12), "init", "work", 5, "range",
                           "later", "exit", 3, code=3)
        self.assertIn("libcupti is not mapped\n", done.stdout)
        self.assertEqual(done.stdout.count("at level -2"), 2, done.stdout)
        self.assertIn("cupti: NVTX ranges: the first ones came before the program had loaded CUDA; let the program load CUDA",
                      done.stderr)
        self.expect_work()

    def test_first_range_went_to_a_cupti_that_cannot_collect(self):
        self.environment["SPSCOPE_FAKE_CUPTI_13"] = "fail=cuptiActivityRegisterCallbacks:999"
        done = self.attach(PROGRAM, "open", cupti_of(13), "range", "early", "open", cupti_of(12), "init", "work", 5, "range",
                           "later")
        self.assertIn(f"went to {cupti_of(13)}, and {cupti_of(12)} records; let the program start CUDA", done.stderr)
        self.assertEqual(self.stored_ranges(), [])


class Nccl(CollectTest):
    def expect_collectives(self, number, sends=0):
        found = self.rows("SELECT name, sequence, bytes, peer, begin_ns, transfer_begin_ns, end_ns " + COLLECTIVES +
                          " ORDER BY begin_ns")
        reduces = [row for row in found if row["name"] == "AllReduce RING SIMPLE"]
        self.assertEqual([(int(row["sequence"]), row["bytes"], row["peer"]) for row in reduces],
                         [(i, "4000", "-1") for i in range(number)])
        sent = [row for row in found if row["name"] == "Send"]
        self.assertEqual([(int(row["sequence"]), row["bytes"], row["peer"]) for row in sent],
                         [(i, "12", "6") for i in range(sends)])
        self.assertEqual(len(found), number + sends)
        for row in found:
            moments = [int(row[key]) for key in ("begin_ns", "transfer_begin_ns", "end_ns")]
            self.assertEqual(moments, sorted(moments))
        self.expect_balance()

    def test_each_interface(self):
        for version in (3, 4, 5, 6):
            with self.subTest(version=version):
                done = self.attach(PROGRAM, "init", "nccl", version, "reduce", 20, "send", 5, "leave", "exit", 6, code=6)
                self.assertIn(f"profiler interface v{version}, events ", done.stdout)
                self.expect_collectives(20, 5)
                ranks = " rank 3" if version == 3 else " rank 3 of 8"
                tracks = self.rows("SELECT DISTINCT track.name, process, track.rank FROM track JOIN event USING (track_id) "
                                   "WHERE kind = 4")
                self.assertEqual([track["name"] for track in tracks], [f"NCCL 0x0000000000005eed{ranks} (tp)"])
                self.assertIn("cuda_program", tracks[0]["process"])
                self.assertEqual(tracks[0]["rank"], "3")
                cost = self.cost("nccl")
                calls = 0 if version < 5 else 25
                self.assertGreaterEqual(int(cost["records"]), 25 + calls)
                self.assertEqual(cost["dropped"], "0")
                self.assertGreater(int(cost["memory_bytes"]), 0)
                self.assertIn("nccl: ", done.stderr)

    def test_nccl_before_the_driver_after_it_and_without(self):
        for words in (("nccl", 6, "init"), ("init", "nccl", 6), ("nccl", 6)):
            with self.subTest(words=words):
                self.attach(PROGRAM, *words, "reduce", 7, "leave")
                self.expect_collectives(7)

    def test_profiler_is_loaded_again_after_the_last_communicator(self):
        self.attach(PROGRAM, "init", "nccl", 6, "reduce", 3, "leave", "sleep", 50, "nccl", 6, "reduce", 4, "leave",
                    "sleep", 50)
        self.assertEqual([int(row["sequence"]) for row in
                          self.rows(f"SELECT sequence {COLLECTIVES} ORDER BY begin_ns")], [0, 1, 2, 0, 1, 2, 3])

    def test_driver_without_nccl_has_next_to_no_cost(self):
        done = self.attach(PROGRAM, "open", cupti_of(12), "init", "work", 10)
        self.assertIn("  nccl: nothing to collect\n", done.stderr)
        cost = self.cost("nccl")
        self.assertEqual({cost[key] for key in ("thread_ns", "callback_ns", "memory_bytes", "records")}, {"0"})

    def test_program_that_does_not_end_its_communicator(self):
        self.attach(PROGRAM, "init", "nccl", 6, "reduce", 6, "exit", 2, code=2)
        self.expect_collectives(6)

    def test_kill(self):
        """NCCL's operations are published within 40 ms of their end."""
        self.attach(PROGRAM, "init", "nccl", 6, "reduce", 15, "sleep", 200, "raise", int(signal.SIGKILL),
                    code=-signal.SIGKILL)
        self.expect_collectives(15)

    @forked_child_goes_on
    def test_forked_child_is_off(self):
        """In the plugin that it inherited, too, whether NCCL had been used or not."""
        for before in ((), ("nccl", 6, "reduce", 2, "leave")):
            with self.subTest(before=before):
                done = self.attach(PROGRAM, "open", cupti_of(12), "init", "work", 5, *before, "fork", "nccl", 6, "reduce", 3,
                                   "leave", "exit", 9, code=9)
                self.assertIn("profiler interface v6, events 0\n", done.stdout)
                self.assertEqual(self.num_collectives(), 2 if before else 0)

    @forked_child_goes_on
    def test_child_that_executes_another_program_is_on(self):
        self.attach(PROGRAM, "nccl", 6, "reduce", 2, "leave", "fork", "exec", "nccl", 6, "reduce", 3, "leave")
        self.assertEqual(self.num_collectives(), 5)
        self.assertEqual(self.value("SELECT count(*) FROM collector WHERE name = 'nccl'"), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
