"""Runs cases of random configs, prints what is wrong of each, and keeps the configs of those that failed."""
import argparse
import concurrent.futures
import itertools
import shutil
import tempfile
import traceback
from pathlib import Path


def parser(description):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--program", required=True, type=lambda path: str(Path(path).resolve()))
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--jobs", type=int, default=1)
    made.add_argument("--keep", type=Path, help="folder for the configs of failed cases")
    return made


def run_one(make, program, folder, seed, number):
    """What the case gives, and its problems."""
    case, result = None, 0
    try:
        case = make(program, folder, seed, number)
        result = case.run()
        problems = case.problems
    except Exception:
        problems = (case.problems if case else []) + [traceback.format_exc()]
    if not problems:
        shutil.rmtree(folder)
    return result, problems


def run(given, make, numbers):
    """What each case gives, and whether it failed. `make(program, folder, seed, number)` is a case of random configs."""
    keep = (given.keep or Path(tempfile.mkdtemp(prefix="spscope-oracle-"))).resolve()
    numbers, failed = iter(numbers), False
    try:
        with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
            while batch := list(itertools.islice(numbers, 2 * given.jobs)):
                folders = [keep / f"seed-{given.seed}-case-{number}" for number in batch]
                jobs = [pool.submit(run_one, make, given.program, folder, given.seed, number)
                        for folder, number in zip(folders, batch)]
                for number, folder, job in zip(batch, folders, jobs):
                    result, problems = job.result()
                    failed |= bool(problems)
                    for problem in problems[:3]:
                        print(f"case {number}: {problem}")
                    if problems:
                        print(f"case {number}: {len(problems)} problems; {folder}/run.toml")
                    yield result, bool(problems)
    finally:
        if not failed and not given.keep:
            shutil.rmtree(keep)
