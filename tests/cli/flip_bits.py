"""flip_bits.py SPSCOPE FLIPS FILE...: flips one bit of a stored run at a time and runs the commands that read one. Each must
fail with an error, or print what it prints of the sound file; doctor may instead say that the pages have no checksums any more.
What recover makes of every eighth file has the figures of the sound one, or those of fewer layer passes. Where a bit lies does
not matter to the checksums of pages, so bits are drawn from the whole file."""
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
QUESTION = "SELECT " + ", ".join(
    [f"(SELECT count(*) || ' ' || group_concat(x) FROM (SELECT {column} AS x FROM {table} ORDER BY 1))" for table, column in (
        ("run", "tiles || figures_crc32c"), ("rank_usage", "flops || messages"), ("traffic", "bytes"), ("repeat", "makespan_ns"))]
    + ["(SELECT count(*) || ' ' || total(begin_ns * 1.0 + end_ns) FROM event)", "(SELECT total(total_ns) FROM event_stats)"])
COMMANDS = (["compare", "FILE", "--json"], ["sql", "FILE", QUESTION, "--json"], ["doctor", "FILE"], ["report", "FILE", "--json"])


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=100, check=False)
    assert done.returncode == 0 or done.returncode in (1, 2) and (b"error SPS-" in done.stderr or b"note: " in done.stderr), (arguments, done)
    return done.returncode, done.stdout


def answers(path):
    """The exit code and output of each command, without the path of the file."""
    for command in COMMANDS:
        code, out = run(*(path if word == "FILE" else word for word in command))
        yield code, out.replace(path.encode(), b"FILE")


def figures(path):
    """Of finished layer passes, as `sql` prints them."""
    return {(table, row) for table in ("run", "rank_usage", "traffic", "repeat", "rank_repeat") for row in
            run("sql", path, f"SELECT t.* FROM {table} t JOIN run r USING (run_id) WHERE r.finished", "--csv")[1].splitlines()}


def flipped(data, bit, path, sound, sound_figures):
    """What is wrong of a file with this bit flipped, whether compare refused it, and whether recover made a file."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    with open(path, "wb") as file:
        file.write(changed)
    ends = list(answers(path))
    faults = [f"{command[0]} prints something else when bit {bit} is flipped" for command, end, was in zip(COMMANDS, ends, sound)
              if end != was and end[0] == 0 and not (command[0] == "doctor" and b"! pages" in end[1])]
    saved = path + "-saved.db"
    if sound_figures and run("recover", path, "-o", saved)[0] == 0:
        if not figures(saved) <= sound_figures or run("doctor", saved)[0] != 0:
            faults.append(f"recover makes figures up when bit {bit} is flipped")
    return faults, ends[0][0] != 0, os.path.exists(saved)


def main(flips, *files):
    rng, jobs = random.Random(1), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for index, path in enumerate(files):
            with open(path, "rb") as file:
                data = file.read()
            sound = list(answers(path))
            assert all(code == 0 for code, _ in sound), sound
            sound_figures = figures(path)
            jobs += [pool.submit(flipped, data, rng.randrange(8 * len(data)), os.path.join(folder, f"{index}-{i}.db"), sound,
                                 sound_figures if i % 8 == 0 else None) for i in range(int(flips) // len(files))]
        ends = [job.result() for job in jobs]
    faults = [fault for of, _, _ in ends for fault in of]
    print(f"{len(jobs)} flipped bits\n" + "\n".join(faults[:20]))
    sys.exit(1 if faults or not any(refused for _, refused, _ in ends) or not any(made for *_, made in ends) else 0)


main(*sys.argv[2:])
