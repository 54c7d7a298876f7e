"""Ranks of programs under `spscope attach` that start their processes in different ways, on fakes of the driver, of CUPTI and of
NCCL: each process is the rank that the program would call it, by attach and by recover, and both say what says so.

Usage: ranks_test.py SPSCOPE PROGRAM LIBRARY CUPTI_FOLDER
"""
import json
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

from attached import Attached

Attached.SPSCOPE, PROGRAM, Attached.LIBRARY, CUPTI = (str(Path(path).resolve()) for path in sys.argv[1:5])
RANKS = ("SELECT CAST(substr(device, instr(device, ' at ') + 9, 2) AS INTEGER) - 1 AS gpu, rank, process FROM track WHERE "
         "kind = 1 ORDER BY gpu, rank")
NO_SLURM = "SLURM_PROCID is no rank, as several processes have the value 0 at the same time"
COUNT_ON = "count on from those, as their communicator gives ranks that others have"


def join(communicator, num_ranks, rank):
    return "join", communicator, num_ranks, rank


def late(rank):
    return "set", "RANK", rank


class Ranks(Attached):
    def setUp(self):
        super().setUp()
        self.environment["SPSCOPE_FAKE_CUDA"] = "devices=4"

    def script(self, workers, of_all):
        """Runs workers, who are all there before one goes on: (variables, GPU, what it then does)."""
        met = self.home / f"met-{len(list(self.home.glob('met-*')))}"
        met.mkdir()
        lines = []
        for variables, gpu, words in workers:
            command = ["env", *variables.split(), PROGRAM, "open", f"{CUPTI}/13/libcupti.so.13", "init", "gpu", gpu, "work", 5,
                       "meet", met, len(workers), *words]
            lines.append(shlex.join(map(str, command)) + " &")
        return "; ".join([f"export {of_all}" if of_all else "true", " ".join(lines) + " wait"])

    def stored(self):
        """The ranks on each GPU."""
        ranks = {}
        for row in self.rows(RANKS):
            ranks.setdefault(int(row["gpu"]), []).append(int(row["rank"]) if row["rank"] else None)
        return ranks

    def test_ranks_of_programs(self):
        helper = ("fork", "exec", "open", f"{CUPTI}/13/libcupti.so.13", "init", "gpu", 1, "work", 5)
        for what, of_all, workers, ranks, text in (
                ("a worker chooses its GPU and sets RANK afterwards", "",
                 [("", 0, late(1)), ("", 1, late(0))], {0: [1], 1: [0]}, "RANK gives the ranks of 2 processes"),
                ("LOCAL_RANK alone", "", [("LOCAL_RANK=1", 0, ()), ("LOCAL_RANK=0", 1, ())], {0: [1], 1: [0]},
                 "LOCAL_RANK gives the ranks of 2 processes"),
                ("nothing", "", [("", 3, ()), ("", 2, ())], {2: [0], 3: [1]},
                 "2 processes are numbered by GPU, as nothing gives their ranks"),
                ("sbatch", "SLURM_PROCID=0", [("", 0, join(7, 2, 1)), ("", 1, join(7, 2, 0))], {0: [1], 1: [0]},
                 f"NCCL gives the ranks of 2 processes; {NO_SLURM}"),
                ("sbatch without NCCL", "SLURM_PROCID=0", [("", 3, ()), ("", 1, ())], {1: [0], 3: [1]},
                 f"2 processes are numbered by GPU, as nothing gives their ranks; {NO_SLURM}"),
                ("torchrun, with a child of a rank", "SLURM_PROCID=0",
                 [("RANK=1 LOCAL_RANK=1", 0, ()), ("RANK=0 LOCAL_RANK=0", 1, helper)], {0: [1], 1: [0, 0]},
                 "RANK gives the ranks of 3 processes"),
                ("mpirun", "", [("OMPI_COMM_WORLD_RANK=1", 0, ()), ("OMPI_COMM_WORLD_RANK=0", 1, ())], {0: [1], 1: [0]},
                 "OMPI_COMM_WORLD_RANK gives the ranks of 2 processes"),
                ("two models", "", [(f"RANK={rank}", gpu, join(model, 2, rank))
                                    for model, rank, gpu in ((7, 0, 2), (7, 1, 3), (8, 0, 1), (8, 1, 0))],
                 {0: [1], 1: [0], 2: [2], 3: [3]},
                 f"NCCL gives the ranks of 2 processes; the ranks of 2 processes {COUNT_ON}; RANK is no rank, as several "
                 "processes have the value 0 at the same time")):
            with self.subTest(what=what):
                done = self.attach("--json", "sh", "-c", self.script(workers, of_all))
                self.assertEqual(self.stored(), ranks, done.stderr)
                self.assertEqual(done.stderr.count(f"spscope attach: {text}\n"), 1, done.stderr)
                said = json.loads(done.stdout.splitlines()[-1])
                all_ranks = sorted({rank for of_gpu in ranks.values() for rank in of_gpu})
                self.assertEqual(said["ranks"], all_ranks)
                of_processes = {row["process"]: int(row["rank"]) for row in self.rows(RANKS)}
                for collector in said["collectors"]:
                    self.assertEqual(collector["rank"], of_processes.get(collector["process"]), collector)
                self.assertEqual(self.value("SELECT ranks FROM workload"), len(all_ranks))
                for table, column in (("rank_process", "rank"), ("clock_fit", "rank"), ("collector", "first_rank")):
                    found = self.rows(f"SELECT DISTINCT {column} AS rank FROM {table} WHERE {column} >= 0 ORDER BY 1")
                    self.assertEqual([int(row["rank"]) for row in found], all_ranks, table)
                doctor = subprocess.run([self.SPSCOPE, "doctor", self.out], capture_output=True, text=True, check=False).stdout
                self.assertIn(text, " ".join(doctor.split()))
                self.out.unlink()

    def test_a_process_alone_has_no_rank(self):
        done = self.attach("sh", "-c", self.script([("", 2, ())], ""))
        self.assertEqual(self.stored(), {2: [None]})
        self.assertNotIn("rank", done.stderr)

    def test_recover_gives_the_same_ranks(self):
        """attach is killed once it knows what NCCL says, and before its processes end."""
        workers = [("", gpu, (*join(7, 2, 1 - gpu), "meet", self.home / "met-0", 3)) for gpu in (0, 1)]
        query = ("SELECT 1 FROM meta WHERE key = 'process_ranks' AND instr(char(10) || value, char(10) || '5 ') > 0 AND EXISTS "
                 "(SELECT 1 FROM chunk)")
        with subprocess.Popen(self.command("sh", "-c", self.script(workers, "SLURM_PROCID=0")), env=self.environment,
                              stderr=subprocess.DEVNULL) as attach:
            done = self.kill_and_recover(attach, query, 2, (self.home / "met-0/end").touch)
        self.assertEqual(self.stored(), {0: [1], 1: [0]}, done.stderr)
        self.assertIn(f"  NCCL gives the ranks of 2 processes; {NO_SLURM}\n", done.stdout)
        self.assertEqual(self.value("SELECT ranks FROM workload"), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
