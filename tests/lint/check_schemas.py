"""R9: each table, view and column of schemas/ has a comment, migrations NNNN_*.sql have no gap in their numbers, and
events are read through EventReader and the view `event`, so that how they are stored can change."""
import re

from tree import SOURCES, Finding, line_of

RULES = {"R9": "the schema explains itself"}
CREATED = re.compile(r"^CREATE (?:TEMP )?(TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
TABLE_BODY = re.compile(r"^CREATE TABLE (\w+)\s*\(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
STORED_EVENTS = re.compile(r"\b(?:FROM|JOIN|INTO)\s+(?:main\.)?event_row\b")
MAY_USE_STORED_EVENTS = ("schemas/0002_chunks.sql", "backend/store/migrate_copy.cpp")
COLUMN = re.compile(r"^\s+([a-z]\w*)\s+[A-Z]")


def check(tree):
    numbers = []
    for path in tree.with_suffix(".sql", under="schemas/"):
        text = tree.text(path)
        lines = text.splitlines()
        number = re.fullmatch(r"schemas/(\d{4})_\w+\.sql", path)
        if number:
            numbers.append(int(number.group(1)))
        for match in CREATED.finditer(text):
            line = line_of(text, match.start())
            if line == 1 or not lines[line - 2].startswith("--"):
                yield Finding("R9", path, line, f"no comment above {match.group(1).lower()} {match.group(2)}")
        for match in TABLE_BODY.finditer(text):
            first = line_of(text, match.start(2))
            for line, row in enumerate(match.group(2).splitlines(), first):
                column = COLUMN.match(row)
                if column and "--" not in row and not lines[line - 2].lstrip().startswith("--"):
                    yield Finding("R9", path, line, f"no comment on column {match.group(1)}.{column.group(1)}")
    for path in tree.with_suffix(".sql", *SOURCES):
        if path.startswith(("schemas/views/", "backend/")) and path not in MAY_USE_STORED_EVENTS:
            for match in STORED_EVENTS.finditer(tree.text(path)):
                yield Finding("R9", path, line_of(tree.text(path), match.start()), "uses event_row, which only files " +
                              "of version 1 have")
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("R9", "schemas", 1, f"migrations are numbered {numbers}")
