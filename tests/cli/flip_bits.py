"""flip_bits.py SPSCOPE FILE... [--flips N] [--columns] [--seed S] [--recover-every K]: flips one bit of a stored run at a
time and runs the commands that read one. Each must fail with an error, or print what it prints of the sound file;
doctor may instead say that the pages have no checksums any more. What recover makes of the file has the figures of the
sound one, or those of fewer layer passes.

Half of the bits are anywhere in the file, half in rows of the tables with figures. With --columns, also one in the
stored bytes of each column of these tables, for which report and export, which read as compare and sql do, are left
out. Where the rows are follows from SQLite's file format, read here, and not from the program."""
import argparse
import concurrent.futures
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

FIGURES = ["run", "rank_usage", "traffic", "repeat", "rank_repeat"]
VIEWS = ["strategy_summary", "rank_load", "rank_wait", "link_traffic", "tensor_traffic", "run_makespan"]
OTHERS = ["workload", "strategy", "strategy_node", "plan_op", "ledger", "track", "chunk", "string"]


def varint(data, at):
    value = 0
    for i in range(9):
        byte = data[at + i]
        if i == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1


def column_places(data, page_size, root):
    """The (offset, length) of the stored bytes of each column of each row of a tree, those inside its page."""
    places, pages = [], [root]
    while pages:
        start = (pages.pop() - 1) * page_size
        head = start + (100 if start == 0 else 0)
        kind, cells = data[head], int.from_bytes(data[head + 3:head + 5], "big")
        inner = kind in (2, 5)
        if inner:
            pages.append(int.from_bytes(data[head + 8:head + 12], "big"))
        for cell in range(cells):
            slot = head + (12 if inner else 8) + 2 * cell
            at = start + int.from_bytes(data[slot:slot + 2], "big")
            if inner:
                pages.append(int.from_bytes(data[at:at + 4], "big"))
                at += 4
            if kind == 5:
                continue
            _, at = varint(data, at)
            if kind == 13:
                _, at = varint(data, at)
            header, body = varint(data, at)
            column, value, row = body, at + header, []
            while column < at + header:
                serial, column = varint(data, column)
                length = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][serial] if serial < 10 else (serial - 12) // 2
                row.append((value, min(length, start + page_size - value)))
                value += length
            places.append(row)
    return places


class Trial:
    """One file, its sound answers, and the places of its figures."""

    def __init__(self, program, path, folder):
        self.program, self.path, self.folder = program, path, folder
        with open(path, "rb") as file:
            self.data = file.read()
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        page_size = db.execute("PRAGMA page_size").fetchone()[0]
        self.columns, self.places = {}, {}
        for table in FIGURES:
            (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
            self.columns[table] = len(db.execute(f"PRAGMA table_info({table})").fetchall())
            self.places[table] = column_places(self.data, page_size, root)
        parts = [f"(SELECT group_concat(line, char(10)) FROM (SELECT {self.line(db, name)} AS line FROM {name} ORDER BY 1))"
                 for name in FIGURES + OTHERS]
        self.figures = "SELECT " + ", ".join(parts[:len(FIGURES)])
        db.close()
        views = [f"(SELECT count(*) || total({column}) FROM {view})" for view, column in zip(
            VIEWS, ["makespan_ns", "tiles_to_mean_ratio", "wait_ns", "bytes", "bytes", "makespan_ns"])]
        self.question = "SELECT " + ", ".join(parts + views + [
            "(SELECT count(*) || ' ' || total(begin_ns * 1.0 + end_ns) || group_concat(DISTINCT name) FROM event)",
            "(SELECT count(*) || ' ' || total(total_ns) FROM event_stats)"])
        self.sound = self.answers(path, "sound")
        assert all(code == 0 for code, _ in self.sound.values()), self.sound
        self.sound_rows = self.rows(path)

    @staticmethod
    def line(db, table):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[2] != "BLOB"]
        return " || ',' || ".join(f"quote({name})" for name in names)

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, timeout=100, check=False)
        assert done.returncode in (0, 1, 2), (arguments, done)
        assert done.returncode == 0 or b"error SPS-" in done.stderr or b"note: " in done.stderr, (arguments, done)
        return done.returncode, done.stdout

    def answers(self, path, name, is_all=True):
        """The exit code and output of each command, without the path of the file."""
        out = os.path.join(self.folder, name + "-out")
        answers = {
            "compare": self.run("compare", path, "--json"),
            "sql": self.run("sql", path, self.question, "--json"),
            "doctor": self.run("doctor", path),
        }
        if is_all:
            answers["report"] = self.run("report", path, "--json")
            code, _ = self.run("export", path, "--format", "csv", "-o", out)
            digest = hashlib.sha256()
            for table in sorted(os.listdir(out)) if code == 0 else []:
                with open(os.path.join(out, table), "rb") as file:
                    digest.update(table.encode() + file.read())
            shutil.rmtree(out, ignore_errors=True)
            answers["export"] = code, digest.hexdigest()
        return {name: (code, out.replace(path.encode(), b"FILE") if isinstance(out, bytes) else out)
                for name, (code, out) in answers.items()}

    def rows(self, path):
        """By table, the rows of finished layer passes."""
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        finished = {row[0] for row in db.execute("SELECT run_id FROM run WHERE finished")}
        rows = {}
        for table in FIGURES:
            every = db.execute(f"SELECT run_id, {self.line(db, table)} FROM {table}").fetchall()
            rows[table] = {run: sorted(line for r, line in every if r == run) for run in finished}
        db.close()
        return rows

    def flipped(self, number, bit, is_all, recovers):
        """What is wrong of a file with this bit flipped, and how each command ended."""
        name = f"flip-{number}"
        path = os.path.join(self.folder, name + ".db")
        changed = bytearray(self.data)
        changed[bit // 8] ^= 1 << bit % 8
        with open(path, "wb") as file:
            file.write(changed)
        faults, ends = [], {}
        for command, (code, out) in self.answers(path, name, is_all).items():
            same = (code, out) == self.sound[command]
            warned = command == "doctor" and b"! pages" in out
            ends[command] = "same" if same else "refused" if code else "warned" if warned else "WRONG"
            if ends[command] == "WRONG":
                faults.append(f"{command} of {self.path} with bit {bit} flipped prints something else")
        if recovers:
            saved = os.path.join(self.folder, name + "-saved.db")
            code, _ = self.run("recover", path, "-o", saved)
            ends["recover"] = "refused"
            if code == 0:
                rows = self.rows(saved)
                whole = rows == self.sound_rows
                ends["recover"] = "same" if whole else "part"
                for table in FIGURES:
                    for run, lines in rows[table].items():
                        if lines != self.sound_rows[table].get(run):
                            ends["recover"] = "WRONG"
                            faults.append(f"recover of {self.path} with bit {bit} flipped: {table} of run {run} differs")
                if self.run("doctor", saved)[0] != 0:
                    faults.append(f"recover of {self.path} with bit {bit} flipped makes a damaged file")
                os.remove(saved)
        os.remove(path)
        return faults, ends

    def bits(self, rng, flips):
        bits = []
        for i in range(flips):
            if i % 2 == 0:
                bits.append(rng.randrange(8 * len(self.data)))
                continue
            rows = self.places[rng.choice([table for table in FIGURES if self.places[table]])]
            offset, length = rng.choice([place for place in rng.choice(rows) if place[1] > 0])
            bits.append(8 * offset + rng.randrange(8 * length))
        return bits

    def bits_of_columns(self, rng):
        bits = []
        for table in FIGURES:
            for column in range(self.columns[table]):
                stored = [row[column] for row in self.places[table] if row[column][1] > 0]
                if stored:
                    offset, length = rng.choice(stored)
                    bits.append(8 * offset + rng.randrange(8 * length))
        return bits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--columns", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recover-every", type=int, default=4)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    faults, counts, flips = [], {}, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for index, path in enumerate(options.files):
            trial = Trial(options.program, path, folder)
            bits = [(bit, True) for bit in trial.bits(rng, options.flips // len(options.files))]
            bits += [(bit, False) for bit in trial.bits_of_columns(rng)] if options.columns else []
            jobs += [pool.submit(trial.flipped, f"{index}-{i}", bit, is_all, i % options.recover_every == 0)
                     for i, (bit, is_all) in enumerate(bits)]
        for job in jobs:
            wrong, ends = job.result()
            flips += 1
            faults += wrong
            for command, end in ends.items():
                counts[command, end] = counts.get((command, end), 0) + 1
    print(f"{flips} flipped bits")
    for (command, end), count in sorted(counts.items()):
        print(f"{command:8} {end:8} {count}")
    for fault in faults[:20]:
        print(fault)
    refused = sum(count for (command, end), count in counts.items() if command == "compare" and end == "refused")
    if refused == 0:
        print("no flipped bit was noticed")
    sys.exit(1 if faults or refused == 0 else 0)


if __name__ == "__main__":
    main()
