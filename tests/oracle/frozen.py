"""What a program prints for random configs, as one file, and the comparison of two such files: a change that must change
nothing that users see is shown to have changed nothing.

    frozen.py freeze PROGRAM OUT.json [--seed N] [--cases M]     M configs of each mode: simulate, execute, plan
    frozen.py compare BEFORE.json AFTER.json [--may-differ KEY,...]

Each result is the JSON of `run --json` or `plan --json`, or the exit code and the error numbers of a run that was refused.
Left out of all, because they differ from one call to the next or say which program ran: VOLATILE. Left out of `execute`,
because they are times, or follow from times: TIMES_OF_EXECUTE. What is measured there and kept: bytes, messages, memory,
verdicts, errors in fp32 and bf16 (the same bits on one machine), and everything of the plan.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import configs

MODES = ("simulate", "execute", "plan")
VOLATILE = {"tool_version", "machine", "planning_ns"}
TIMES_OF_EXECUTE = {
    "makespan_ns", "makespan_spread_ns", "attention_ns", "end_to_end_ns",
    "end_to_end_spread_ns", "samples_per_hour", "speedup", "compute_deviation", "disturbed",
    "terms_ns", "path_terms_ns", "waited_for_ns", "rank_waits", "why_slower", "verdicts",
    "compute_ns", "wait_late_peer_ns", "wire_ns", "other_ns", "exposed_comm_ns", "slowest_rank", "slowest_excess",
    "timing",             # cores of the machine against ranks
    "memory_peak_bytes",  # what was live at once depends on which rank came first
    "recording",          # how many events were sent follows from what was run, what was dropped from speed
}


def without(value, keys):
    if isinstance(value, dict):
        return {key: without(v, keys) for key, v in value.items() if key not in keys}
    return [without(v, keys) for v in value] if isinstance(value, list) else value


def result_of(program, mode, folder):
    command = ["plan" if mode == "plan" else "run", "run.toml", "--json"]
    environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([program, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    found = {"exit_code": done.returncode, "errors": sorted(set(re.findall(r"SPS-\d{3}", done.stderr)))}
    if document is not None:
        found["result"] = without(document, VOLATILE | (TIMES_OF_EXECUTE if mode == "execute" else set()))
    return found


def freeze(program, seed, cases, jobs):
    tasks = [(mode, number) for mode in MODES for number in range(cases)]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        def one(task):
            mode, number = task
            folder = Path(scratch) / f"{mode}-{number}"
            configs.write_case(folder, seed, number, mode)
            return result_of(program, mode, folder)
        results = list(pool.map(one, tasks))
    return {"seed": seed, "cases": cases,
            "results": {f"{mode}-{number}": result for (mode, number), result in zip(tasks, results)}}


def differences(before, after, may_differ, path=""):
    """Paths at which two JSON values differ, apart from keys that may."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(k for k in after if k not in before)]:
            if key in may_differ:
                continue
            if key not in before or key not in after:
                yield f"{path}/{key}: only {'after' if key in after else 'before'}"
            else:
                yield from differences(before[key], after[key], may_differ, f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (x, y) in enumerate(zip(before, after)):
            yield from differences(x, y, may_differ, f"{path}/{i}")
    elif before != after or type(before) is not type(after):
        yield f"{path}: {json.dumps(before)[:80]} before, {json.dumps(after)[:80]} after"


def compare(before, after, may_differ):
    passed = failed = 0
    for name in dict.fromkeys([*before["results"], *after["results"]]):
        if name not in before["results"] or name not in after["results"]:
            found = ["in one of the files only"]
        else:
            found = list(differences(before["results"][name], after["results"][name], may_differ))
        if found:
            print(f"{name}: {len(found)} differences\n  " + "\n  ".join(found[:5]))
        failed += bool(found)
        passed += not found
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(arguments):
    parser = argparse.ArgumentParser(description="results of random configs, frozen and compared")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("freeze")
    make.add_argument("program")
    make.add_argument("out", type=Path)
    make.add_argument("--seed", type=int, default=13)
    make.add_argument("--cases", type=int, default=100, help="of each mode")
    make.add_argument("--jobs", type=int, default=os.cpu_count())
    judge = commands.add_parser("compare")
    judge.add_argument("before", type=Path)
    judge.add_argument("after", type=Path)
    judge.add_argument("--may-differ", default="", help="names of keys, with commas between them")
    given = parser.parse_args(arguments)
    if given.command == "compare":
        before, after = (json.loads(path.read_text("utf-8")) for path in (given.before, given.after))
        return compare(before, after, {key for key in given.may_differ.split(",") if key})
    frozen = freeze(str(Path(given.program).resolve()), given.seed, given.cases, given.jobs)
    given.out.write_text(json.dumps(frozen, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(frozen['results'])} results, {sum(r['exit_code'] == 0 for r in frozen['results'].values())} of them complete")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
