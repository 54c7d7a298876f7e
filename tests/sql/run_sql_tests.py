"""Runs every tests/sql/*.test: fixture rows, a query, the expected answer.

    # what the file shows
    fixture
    repeat run_id=1 repeat=0 makespan_ns=10      # one row a line; columns that are left out are 0, 0.0 or ''
    query SELECT ...
    expect
    column|column
    value|value                                  # NULL is written as -

Several query/expect pairs may follow one fixture; a line that starts with four blanks goes on from the one before. A
row of the fixture that breaks a CHECK of the schema stops the test, so fixtures are rows that a store could hold. Rows of
`event` are packed into chunks by chunk_format.py, one chunk for neighbours of one run, track and kind, and are read
back through the loadable extension. Every view has a file of its name.

Usage: run_sql_tests.py LIBSPSCOPE_SQLITE. Skipped (77) where Python's SQLite loads no extensions.
"""
import itertools
import re
import sqlite3
import sys
from pathlib import Path

import chunk_format

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = {"INTEGER": 0, "REAL": 0.0, "TEXT": "", "BLOB": b""}
PAIR = re.compile(r"(\w+)=('[^']*'|\S+)")
SKIPPED = 77


def open_schema():
    db = sqlite3.connect(":memory:")
    figures = re.findall(r'^FIGURE\(\s*(\w+), (\w+), "\w+", (Stored|Nullable)', (ROOT / "backend/store/figures.def").read_text(), re.M)
    columns = "".join(f"  {name} {kind}{' NOT NULL' * (column == 'Stored')},\n" for name, kind, column in figures)
    place = "  -- here stand the columns of backend/store/figures.def\n"
    db.executescript((ROOT / "schemas/store.sql").read_text().replace(place, columns))
    return db


def load_extension(db, library):
    db.enable_load_extension(True)
    db.load_extension(library)
    db.enable_load_extension(False)


def values_of(line):
    """The table of a fixture row and its values."""
    table, _, pairs = line.partition(" ")
    return table, {name: None if text == "NULL" else text.strip("'") for name, text in PAIR.findall(pairs)}


def insert(db, table, given):
    row, left = {}, dict(given)
    for _, name, kind, not_null, default, key in db.execute(f"PRAGMA table_info({table})"):
        if name in left:
            row[name] = left.pop(name)
        elif (not_null or (key and kind != "INTEGER")) and default is None:
            row[name] = DEFAULTS[kind]
    assert not left, f"{table} has no column {', '.join(left)}"
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def insert_events(db, rows):
    """Chunks of the events in `rows`. An event with entry_ns moved data, one with correlation_id is work."""
    def chunk_of(row):
        run = row.get("run_id", 0)
        return run if run is None else int(run), int(row.get("track_id", 0)), 3 if "correlation_id" in row else int("entry_ns" in row)

    for (run, track, kind), group in itertools.groupby(rows, chunk_of):
        names = chunk_format.RECORDS[kind]
        events = [{name: int(row.get(name, 0)) for name in names} for row in group]
        chunk_format.insert_chunk(db, run, track, kind, events)


def lines_of(path):
    """Lines without comments; one that starts with four blanks goes on from the one before."""
    lines = (line.split("  #")[0].strip() for line in path.read_text().replace("\n    ", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def open_store(lines, library):
    """A store with the rows of a fixture, ready for questions."""
    db, events = open_schema(), []
    for table, given in map(values_of, lines):
        events.append(given) if table == "event" else insert(db, table, given)
    insert_events(db, events)
    load_extension(db, library)
    return db


def open_fixture(path, library):
    return open_store(lines_of(path), library)


def answer(db, sql):
    cursor = db.execute(sql)
    rows = [[column[0] for column in cursor.description]]
    rows += [["-" if value is None else str(value) for value in row] for row in cursor]
    return ["|".join(row) for row in rows]


def questions_of(lines):
    """The rows of the fixture, and each question with the lines of its answer."""
    parts = [("", [])]
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in ("fixture", "query", "expect"):
            parts.append((word, [rest] if rest else []))
        else:
            parts[-1][1].append(line)
    (_, start), (_, fixture), *rest = parts
    assert not start and [word for word, _ in rest] == ["query", "expect"] * (len(rest) // 2), parts
    return fixture, [(" ".join(sql), expected) for (_, sql), (_, expected) in zip(rest[::2], rest[1::2])]


def run(path, library):
    """The failures of one file, and how many questions it asked."""
    fixture, questions = questions_of(lines_of(path))
    db, failures = open_store(fixture, library), []
    for sql, expected in questions:
        found = answer(db, sql)
        if found != expected:
            failures.append("\n    ".join([f"{path.name}: {sql}\n  expected", *expected]) + "\n  found\n    " +
                            "\n    ".join(found))
    return failures, len(questions)


def main(library):
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python's SQLite loads no extensions")
        return SKIPPED
    tests = sorted(Path(__file__).parent.glob("*.test"))
    failures, total = [], 0
    for path in tests:
        found, asked = run(path, library)
        failures += found or ([] if asked else [f"{path.name}: asks nothing"])
        total += asked
    views = {path.stem for path in (ROOT / "schemas/views").glob("*.sql")}
    failures += [f"view {name} has no test" for name in sorted(views - {path.stem for path in tests})]
    print("\n".join(failures + [f"{total} questions, {len(failures)} failures"]))
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
