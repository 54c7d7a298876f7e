"""docs/file-format.md is true: its chunk decodes to the events it lists. schemas/questions.md has the answers to its questions.

Usage: test_file_format.py LIBSPSCOPE_SQLITE. With UPDATE_GOLDEN=1 the answers are written anew.
"""
import os
import re
import sqlite3
import sys
import unittest

import chunk_format
from run_sql_tests import ROOT, SKIPPED, answer, insert, load_extension, open_fixture, open_schema

TEXT = (ROOT / "docs/file-format.md").read_text("utf-8")
QUESTIONS = ROOT / "schemas/questions.md"
RECIPE = re.compile(r"^### (\d+)\. ([^\n]*)\n(?:(?!^#).)*?^```sql\n(.*?)```\n```answer\n(.*?)```$",
                    re.MULTILINE | re.DOTALL)
LIBRARY = ""


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL).group(1)


def worked_example():
    """The bytes of the document's chunk and the events it stands for."""
    lines = block("chunk").splitlines()
    data = bytes.fromhex("".join(re.match(r"(?:[0-9a-f]{2} ?)+", line).group() for line in lines))
    header, *rows = (line.split() for line in block("events").splitlines())
    return data, [dict(zip(header, map(int, row))) for row in rows]


class Chunk(unittest.TestCase):
    def test_the_worked_example_is_these_events(self):
        data, events = worked_example()
        self.assertEqual(chunk_format.decode(len(events), data), events)
        self.assertEqual(chunk_format.encode(0, events), data)

    def test_the_program_reads_it_too(self):
        _, events = worked_example()
        db = open_schema()
        insert(db, "track", {"track_id": 1, "rank": 0, "lane": 0})
        insert(db, "run", {"run_id": 1, "strategy_id": 1})
        chunk_format.insert_chunk(db, 1, 1, 0, events)
        load_extension(db, LIBRARY)
        found = db.execute("SELECT begin_ns, end_ns, op_id, name_id, category_id, modelled FROM event").fetchall()
        self.assertEqual(found, [(1000, 1500, 7, 2, 1, 0), (1510, 1530, 8, 3, 4, 1)])

class Recipes(unittest.TestCase):
    def test_questions_have_the_answers_of_the_document(self):
        before = text = QUESTIONS.read_text("utf-8")
        recipes = RECIPE.findall(text)
        runs, devices = (open_fixture(ROOT / f"tests/sql/{name}.fixture", LIBRARY) for name in ("recipes", "devices"))
        self.assertEqual([int(number) for number, *_ in recipes], list(range(1, 14)))
        for number, title, sql, expected in recipes:
            found = "".join(row + "\n" for row in answer(runs if int(number) <= 10 else devices, sql))
            if os.environ.get("UPDATE_GOLDEN"):
                text = text.replace(f"{sql}```\n```answer\n{expected}```", f"{sql}```\n```answer\n{found}```")
                continue
            with self.subTest(title):
                self.assertEqual(found, expected)
        if text != before:
            QUESTIONS.write_text(text, "utf-8")


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python's SQLite loads no extensions")
        sys.exit(SKIPPED)
    unittest.main()
