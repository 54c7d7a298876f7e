"""R9: each table, view and column of schemas/ has a comment."""
import re

from tree import Finding, line_of

RULES = {"R9": "the schema explains itself"}
CREATED = re.compile(r"^CREATE (?:TEMP )?(TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
TABLE_BODY = re.compile(r"^CREATE TABLE (\w+)\s*\(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
COLUMN = re.compile(r"^\s+([a-z]\w*)\s+[A-Z]")


def check(tree):
    for path in tree.with_suffix(".sql", under="schemas/"):
        text = tree.text(path)
        lines = text.splitlines()
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
