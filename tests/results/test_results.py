"""Results of stored runs: JSON against its schema, well-formed pages, regressions, SQL.

Usage: test_results.py PROGRAM
"""
import base64
import csv
import hashlib
import html.parser
import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema is missing (package python3-jsonschema)")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
SCHEMA = json.loads((ROOT / "schemas/result.schema.json").read_text("utf-8"))
# `simulate` calculates every time, so two runs agree to the nanosecond and no core is ever short.
SMALL = ["--set", "model.grid=[2,8,8]", "--set", "run.mode=simulate", "--set", "run.repeats=1"]
STRATEGIES = ["-s", "ulysses", "-s", "ring", "-s", "usp:ulysses=2,ring=2", "-s", "usp:ulysses=3,ring=7"]
VOID = {"meta", "link", "br", "hr", "img", "input"}


def spscope(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class WellFormed(html.parser.HTMLParser):
    """Every tag that opens is closed in order; ids are unique; links inside the page lead somewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.pictures, self.tags, self.text = [], [], [], [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        places = self.pictures if tag == "image" else self.links
        places += [attrs["href"]] if "href" in attrs else []

    def handle_endtag(self, tag):
        expected = self.open.pop() if self.open else None
        if tag != expected:
            raise AssertionError(f"</{tag}> closes <{expected}> at {self.getpos()}")

    def handle_data(self, data):
        self.text.append(data)


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="spscope-results-"))
        cls.store = cls.folder / "run.db"
        cls.executed = spscope("run", *SMALL, *STRATEGIES, "--json", "-o", cls.store)
        if cls.executed.returncode != 0:
            raise AssertionError(cls.executed.stderr)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def valid(self, text):
        result = json.loads(text)
        jsonschema.Draft202012Validator(SCHEMA).validate(result)
        return result

    def test_advice_follows_its_schema(self):
        schema = json.loads((ROOT / "schemas/advice.schema.json").read_text("utf-8"))
        for part in (schema["properties"], schema["properties"]["what_if"]["properties"]):
            self.assertEqual(part["comparison"].pop("$ref"), "result.schema.json")
        question = ["--model", "wan-mini", "--cluster", "h100x8", "--ranks", "4", "--seeds", "2"]
        for more in ([], ["--what-if", "link=2"]):
            advice = json.loads(self.done("advise", *question, *more, "--json").stdout)
            jsonschema.Draft202012Validator(schema).validate(advice)
            self.valid(json.dumps(advice["comparison"]))
            self.assertEqual(advice["what_if"] is None, not more)

    def done(self, *arguments, code=0):
        found = spscope(*arguments)
        self.assertEqual(found.returncode, code, found.stderr or found.stdout)
        return found

    def copy(self, name, statement=None):
        path = self.folder / name
        shutil.copy(self.store, path)
        if statement:
            with sqlite3.connect(path) as database:
                database.execute(statement)
            database.close()
        return path

    def test_the_schema_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_run_json_follows_its_schema(self):
        result = self.valid(self.executed.stdout)
        self.assertEqual([s["name"] for s in result["strategies"]], ["ulysses", "ring", "usp", "usp"])
        self.assertEqual(len({s["id"] for s in result["strategies"]}), 4)

    def test_what_is_refused_has_a_reason_and_no_numbers(self):
        refused = json.loads(self.executed.stdout)["strategies"][3]
        self.assertFalse(refused["legal"])
        self.assertEqual(refused["reason"], refused["problems"][0]["message"])
        for key in ("resolved", "makespan_ns", "bytes_sent", "bytes_by_tensor", "tiles", "speedup", "provenance"):
            self.assertIsNone(refused[key], key)

    def test_the_parts_of_each_rank_add_up_to_the_makespan(self):
        for s in json.loads(self.executed.stdout)["strategies"][:3]:
            for parts in zip(s["compute_ns"], s["wait_late_peer_ns"], s["wire_ns"], s["other_ns"]):
                self.assertEqual(sum(parts), s["makespan_ns"])
            tensors = {k: v for k, v in s["bytes_by_tensor"].items() if k != "boundary"}
            self.assertEqual(sum(tensors.values()), sum(s["bytes_sent"]))

    def test_plan_json_follows_the_same_schema(self):
        result = self.valid(self.done("plan", *SMALL, *STRATEGIES, "--json").stdout)
        ran = json.loads(self.executed.stdout)
        for planned, ran_one in zip(result["strategies"], ran["strategies"]):
            for key in ("bytes_sent", "bytes_by_tensor", "messages", "tiles", "coupled_imbalance_ratio"):
                self.assertEqual(planned[key], ran_one[key], key)
            self.assertIsNone(planned["makespan_ns"])

    def test_compare_finds_a_regression(self):
        slow = self.copy("slow.db", "UPDATE repeat SET makespan_ns = makespan_ns * 2")
        found = self.done("compare", self.store, slow, "--fail-above", "5%", "--json", code=3)
        changes = self.valid(found.stdout)["changes"]
        self.assertEqual([c["slower_by"] for c in changes[:3]], [1, 1, 1])
        self.assertTrue(all(c["regression"] for c in changes[:3]))
        self.assertIn("REGRESSION: slower", self.done("compare", self.store, slow, "--fail-above", "5%", code=3).stdout)

    def assert_only_own_script(self, page):
        """One script, without a source, whose hash is the only one that the content security policy lets run."""
        scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
        self.assertEqual([attributes.strip() for attributes, _ in scripts], [""])
        digest = base64.b64encode(hashlib.sha256(scripts[0][1].encode()).digest()).decode()
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
        self.assertIn(f"script-src 'sha256-{digest}'", html.unescape(policy))
        self.assertIn("default-src 'none'", html.unescape(policy))

    def test_html_is_well_formed_and_complete(self):
        page = self.folder / "report.html"
        self.done("report", self.store, "-o", page)
        text = page.read_text("utf-8")
        parsed = WellFormed(text)
        self.assertEqual(parsed.open, [])
        self.assertEqual(len(parsed.ids), len(set(parsed.ids)))
        self.assertEqual([x for x in parsed.links if not x.startswith("#") or x[1:] not in parsed.ids], [])
        self.assertEqual([x[:40] for x in parsed.pictures if not x.startswith("data:image/png;base64,")], [])
        self.assert_only_own_script(text)
        for s in json.loads(self.executed.stdout)["strategies"]:
            self.assertIn(s["label"], "".join(parsed.text))

    def test_html_of_hostile_names_stays_well_formed(self):
        evil = "</td></table><script>alert(1)</script>\" onload=x '&amp;\x01"
        path = self.copy("evil.db")
        with sqlite3.connect(path) as database:
            database.execute("UPDATE strategy SET label = ? || id, name = ?", (evil, evil))
            database.execute("UPDATE workload SET model = ?, pattern = ?, config_toml = ?", (evil, evil, evil))
        database.close()
        text = self.done("report", path, "--format", "html").stdout
        self.assertEqual(WellFormed(text).open, [])
        self.assert_only_own_script(text)
        self.assertNotIn("alert(1)</script>", text)

    def test_sql_answers_as_table_csv_and_json(self):
        query = "SELECT id, legal, NULL AS absent, 'a,\"b' AS quoted FROM strategy ORDER BY strategy_id"
        table = self.done("sql", self.store, query).stdout.splitlines()
        self.assertEqual(table[0].split(), ["id", "legal", "absent", "quoted"])
        self.assertEqual(table[1].split(), ["ulysses", "1", "NULL", 'a,"b'])
        rows = list(csv.reader(io.StringIO(self.done("sql", self.store, query, "--csv").stdout)))
        self.assertEqual(rows[1], ["ulysses", "1", "", 'a,"b'])
        answer = json.loads(self.done("sql", self.store, query, "--json").stdout)
        self.assertEqual(answer["rows"][0], ["ulysses", 1, None, 'a,"b'])
        self.assertEqual((answer["columns"][0], answer["truncated"]), ("id", False))


if __name__ == "__main__":
    unittest.main()
