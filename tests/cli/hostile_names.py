"""A store whose names are attacks, and what is made of it.

hostile_names.py edit STORE           puts them in place of all texts that a report shows
hostile_names.py page PLAIN HOSTILE   the page of the edited store has no tag, attribute or link that the other has not
hostile_names.py tables FOLDER        no cell of its CSV files is a formula
hostile_names.py texts PRINTED PAGE   what commands printed has no escape, no mark that turns text, and no faked line
"""
import base64
import csv
import hashlib
import html.parser
import itertools
import pathlib
import re
import sqlite3
import sys

# Each would set window.owned where it runs; formulas would be calculated by a spreadsheet.
ATTACKS = [
    "<script>parent.owned = window.owned = 1</script>",
    "\"><img src=x onerror=\"window.owned=2\">",
    "' onmouseover='window.owned=3' x='",
    "</title></style></pre></details></svg></table><script>window.owned=4</script>",
    "<svg onload=window.owned=5><!-- ]]> &lt;",
    "javascript:window.owned=6",
    "=HYPERLINK(\"http://localhost/\",\"x\")",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "\n=1+1",
    "</script><iframe src=\"data:text/html,<script>parent.owned=7</script>\">",
    "\u202e\u0007%s%n ## {{}} ${owned=8}",
    "\u001b[2J\u009b2J\u2066\r\nerror SPS-999: faked",
]
# What no reader gets as it is: control characters, marks that turn the direction of text, line breaks of Unicode.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Texts for people. The others are read back: numbers, hashes, lists of ranks.
NAMES = {
    "machine_fact": ["name", "value"], "workload": ["model", "pattern", "cluster"], "plan_op": ["name"], "string": ["value"],
    "strategy": ["id", "label", "device", "backend", "reason"], "problem": ["field", "message", "hint", "file"],
    "run": ["error_metric"], "traffic": ["tensor"], "track": ["name", "process", "device"],
}


def edit(path):
    with sqlite3.connect(path) as store:
        numbers = itertools.count()
        store.create_function("attack", 0, lambda: (lambda n: f"{ATTACKS[n % len(ATTACKS)]} {n}")(next(numbers)))
        for table, columns in NAMES.items():
            for column in columns:
                store.execute(f"UPDATE {table} SET {column} = attack()")
        for (row, text) in store.execute("SELECT rowid, config_toml FROM workload").fetchall():
            comment = "".join("\n# " + re.sub("[\\x00-\\x1f]", " ", attack) for attack in ATTACKS)
            store.execute("UPDATE workload SET config_toml = ? WHERE rowid = ?", (text + comment + "\n", row))
    store.close()
    assert next(numbers) > 1000, "few names were changed"


class Page(html.parser.HTMLParser):
    """What is not text on a page, whose tags are closed in order, whose ids are unique, and whose links lead somewhere."""

    def __init__(self, path):
        super().__init__()
        self.kinds, self.values, self.scripts, self.texts, self.open = set(), [], [], [], []
        self.feed(pathlib.Path(path).read_text(encoding="utf-8"))
        self.close()
        assert not self.open, f"not closed: {self.open}"
        ids = [value for _, name, value in self.values if name == "id"]
        links = {value[1:] for tag, name, value in self.values if name == "href" and value.startswith("#")}
        assert len(ids) == len(set(ids)) and links <= set(ids), (ids, links)

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in ("meta", "link", "br", "hr", "img", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.kinds |= {(tag, "")} | {(tag, name) for name, _ in attributes}
        self.values += [(tag, name, value or "") for name, value in attributes]

    def handle_data(self, data):
        (self.scripts if self.open[-1:] == ["script"] else self.texts).append(data)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_comment(self, data):
        self.kinds.add(("comment", data))


def page(plain_path, hostile_path):
    plain, hostile = Page(plain_path), Page(hostile_path)
    # A reason why a strategy cannot run needs a tag that a page without one lacks: none of these can do anything.
    foreign = hostile.kinds - plain.kinds - {("td", "class"), ("span", "class"), ("span", "data-s"), ("span", "data-r")}
    assert not foreign, f"tags and attributes that the other page has not: {foreign}"
    assert hostile.scripts == plain.scripts and len(hostile.scripts) == 1, "another script"
    policy = next(value for tag, name, value in hostile.values if (tag, name) == ("meta", "content") and "script-src" in value)
    digest = base64.b64encode(hashlib.sha256(hostile.scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy, policy
    for tag, name, value in hostile.values:
        assert not name.startswith("on") and name not in ("src", "srcdoc", "action", "formaction"), (tag, name)
        if name == "href":
            assert re.fullmatch(r"#[\w-]+", value) or (tag == "image" and re.fullmatch(r"data:image/png;base64,[\w+/=]+", value)), value
        if name == "style":
            assert re.fullmatch(r"(background:#[0-9a-f]{6}|[\w-]+:[\d.]+(%|px)?;?)+", value), value
        if name in ("id", "class", "name", "for", "mask", "fill", "filter"):
            assert re.fullmatch(r"[\w #()-]+", value), (name, value)
    text = "".join(hostile.texts)
    for attack in ATTACKS[:6]:
        assert attack in text, f"the text is not there: {attack}"


def tables(folder):
    cells = 0
    for path in pathlib.Path(folder).glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    cells += 1
                    assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n") or re.fullmatch(r"-\d[\d.e+-]*", cell), (path.name, cell)
    assert cells > 100, cells


def texts(printed, page):
    faked = re.compile(UNPRINTABLE.pattern + r"|^(error SPS-999|=1\+1)", re.MULTILINE)
    for path, fault in ((printed, faked), (page, UNPRINTABLE)):  # a page has no lines
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = fault.search(text)
        assert not found, text[max(0, found.start() - 60):found.end() + 20]
        assert "error SPS-999" in text, path


{"edit": edit, "page": page, "tables": tables, "texts": texts}[sys.argv[1]](*sys.argv[2:])
