"""Runs every tests/sql/*.test: fixture rows, a query, the expected answer.

    # what the file shows
    fixture
    repeat run_id=1 repeat=0 makespan_ns=10      # one row a line; columns that are left out are 0, 0.0 or ''
    query SELECT ...
    expect
    column|column
    value|value                                  # NULL is written as -

Several query/expect pairs may follow one fixture; a line that starts with four blanks goes on from the one before. Every view has a file of its name. A row of the fixture that breaks a
CHECK of the schema stops the test, so fixtures are rows that a store could hold.
"""
import re
import sqlite3
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = {"INTEGER": 0, "REAL": 0.0, "TEXT": "", "BLOB": b""}
PAIR = re.compile(r"(\w+)=('[^']*'|\S+)")


def open_schema():
    db = sqlite3.connect(":memory:")
    for path in sorted((ROOT / "schemas").glob("[0-9]*_*.sql")) + sorted((ROOT / "schemas/views").glob("*.sql")):
        db.executescript(path.read_text())
    return db


def insert(db, line):
    table, _, pairs = line.partition(" ")
    given = {name: None if text == "NULL" else text.strip("'") for name, text in PAIR.findall(pairs)}
    row = {}
    for _, name, kind, not_null, _, key in db.execute(f"PRAGMA table_info({table})"):
        if name in given:
            row[name] = given.pop(name)
        elif not_null or (key and kind != "INTEGER"):
            row[name] = DEFAULTS[kind]
    assert not given, f"{table} has no column {', '.join(given)}"
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def answer(db, sql):
    cursor = db.execute(sql)
    rows = [[column[0] for column in cursor.description]]
    rows += [["-" if value is None else str(value) for value in row] for row in cursor]
    return ["|".join(row) for row in rows]


def run(path):
    """The failures of one file, and how many questions it asked."""
    db, part, sql, expected, failures, asked = open_schema(), "", "", [], [], 0

    def check():
        nonlocal asked
        if not sql:
            return
        asked += 1
        found = answer(db, sql)
        if found != expected:
            failures.append(f"{path.name}: {sql}\n  expected\n    " + "\n    ".join(expected) + "\n  found\n    " + "\n    ".join(found))

    for line in path.read_text().replace("\n    ", " ").splitlines():
        line = line.split("  #")[0].strip()
        if not line or line.startswith("#"):
            continue
        if line == "fixture" or line == "expect":
            part = line
        elif line.startswith("query "):
            check()
            part, sql, expected = "query", line[len("query "):], []
        elif part == "fixture":
            insert(db, line)
        elif part == "query":
            sql += " " + line
        else:
            expected.append(line)
    check()
    return failures, asked


def main():
    tests = sorted(Path(__file__).parent.glob("*.test"))
    failures, total = [], 0
    for path in tests:
        found, asked = run(path)
        failures += found or ([] if asked else [f"{path.name}: asks nothing"])
        total += asked
    views = {path.stem for path in (ROOT / "schemas/views").glob("*.sql")}
    failures += [f"view {name} has no test" for name in sorted(views - {path.stem for path in tests})]
    print("\n".join(failures + [f"{total} questions, {len(failures)} failures"]))
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
