"""flip_bits.py SPSCOPE FILE... [--flips N] [--seed S]: flips one bit of a stored run at a time and runs the commands that
read one. Each must fail with an error, or print what it prints of the sound file; doctor may instead say that the pages have
no checksums any more. What recover makes of every eighth file has the figures of the sound one, or those of fewer layer
passes. Where a bit lies does not matter to the checksums of pages, so bits are drawn from the whole file."""
import argparse
import collections
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

FIGURES = ["run", "rank_usage", "traffic", "repeat", "rank_repeat"]
QUESTION = "SELECT " + ", ".join(
    [f"(SELECT count(*) || ' ' || group_concat(x) FROM (SELECT {column} AS x FROM {table} ORDER BY 1))" for table, column in (
        ("run", "tiles || figures_crc32c"), ("rank_usage", "flops || messages"), ("traffic", "bytes"), ("repeat", "makespan_ns"))]
    + ["(SELECT count(*) || ' ' || total(begin_ns * 1.0 + end_ns) FROM event)", "(SELECT total(total_ns) FROM event_stats)"])


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, timeout=100, check=False)
    assert done.returncode == 0 or done.returncode in (1, 2) and (b"error SPS-" in done.stderr or b"note: " in done.stderr), (arguments, done)
    return done.returncode, done.stdout


def answers(program, path):
    """The exit code and output of each command, without the path of the file."""
    commands = {"compare": ["compare", path, "--json"], "sql": ["sql", path, QUESTION, "--json"], "doctor": ["doctor", path],
                "report": ["report", path, "--json"]}
    found = {name: run(program, *command) for name, command in commands.items()}
    return {name: (code, out.replace(path.encode(), b"FILE")) for name, (code, out) in found.items()}


def figures(program, path):
    """By table, the rows of finished layer passes, as `sql` prints them."""
    rows = collections.defaultdict(set)
    for table in FIGURES:
        _, out = run(program, "sql", path, f"SELECT t.* FROM {table} t JOIN run r USING (run_id) WHERE r.finished", "--csv")
        rows[table] = set(out.splitlines())
    return rows


def flipped(program, data, bit, path, sound, sound_figures):
    """What is wrong of a file with this bit flipped, and how each command ended."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    with open(path, "wb") as file:
        file.write(changed)
    faults, ends = [], []
    for command, (code, out) in answers(program, path).items():
        same = (code, out) == sound[command]
        ends.append((command, "same" if same else "refused" if code else "warned"))
        if not same and code == 0 and not (command == "doctor" and b"! pages" in out):
            faults.append(f"{command} prints something else when bit {bit} is flipped")
    if sound_figures is not None:
        saved = path + "-saved.db"
        code, _ = run(program, "recover", path, "-o", saved)
        ends.append(("recover", "refused" if code else "made"))
        if code == 0:
            kept = figures(program, saved)
            faults += [f"recover makes rows of {table} up when bit {bit} is flipped" for table in FIGURES
                       if not kept[table] <= sound_figures[table]]
            if run(program, "doctor", saved)[0] != 0:
                faults.append(f"recover makes a damaged file when bit {bit} is flipped")
            os.remove(saved)
    os.remove(path)
    return faults, ends


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, faults, counts = random.Random(options.seed), [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for index, path in enumerate(options.files):
            with open(path, "rb") as file:
                data = file.read()
            sound = answers(options.program, path)
            assert all(code == 0 for code, _ in sound.values()), sound
            sound_figures = figures(options.program, path)
            jobs += [pool.submit(flipped, options.program, data, rng.randrange(8 * len(data)), os.path.join(folder, f"{index}-{i}.db"), sound,
                                 sound_figures if i % 8 == 0 else None) for i in range(options.flips // len(options.files))]
        for job in jobs:
            wrong, ends = job.result()
            faults += wrong
            counts.update(ends)
    print(f"{len(jobs)} flipped bits")
    for (command, end), count in sorted(counts.items()):
        print(f"{command:8} {end:8} {count}")
    print("\n".join(faults[:20]))
    sys.exit(1 if faults or not counts["compare", "refused"] or not counts["recover", "made"] else 0)


if __name__ == "__main__":
    main()
