"""Results of runs: JSON against its schema and against each other. Usage: test_results.py PROGRAM"""
import json
import re
import shutil
import sqlite3
import unittest

from stored import SCHEMAS, StoredRuns, read_schema, spscope, valid

SCHEMA = read_schema("result")
SMALL = ["--set", "model.grid=[2,8,8]", "-s", "ulysses", "-s", "ring", "-s", "usp:ulysses=2,ring=2", "-s", "usp:ulysses=3,ring=7"]


class Results(StoredRuns):
    RUNS = {"small": SMALL}

    def setUp(self):
        self.ran = valid(self.printed["small"], SCHEMA)["strategies"]

    def test_advice_follows_its_schema(self):
        schema = read_schema("advice")
        for part in (schema["properties"], schema["properties"]["what_if"]["properties"]):
            self.assertEqual(part["comparison"].pop("$ref"), "result.schema.json")
        for more in ([], ["--what-if", "link=2"]):
            advice = valid(spscope("advise", "--model", "wan-mini", "--cluster", "h100x8", "--ranks", 4, "--seeds", 2, *more, "--json"), schema)
            valid(json.dumps(advice["comparison"]), SCHEMA)
            self.assertEqual(advice["what_if"] is None, not more)

    def test_what_is_refused_has_a_reason_and_no_numbers(self):
        self.assertEqual([s["name"] for s in self.ran], ["ulysses", "ring", "usp", "usp"])
        refused = self.ran[3]
        self.assertFalse(refused["legal"])
        self.assertEqual(refused["reason"], refused["problems"][0]["message"])
        for key in ("resolved", "makespan_ns", "bytes_sent", "bytes_by_tensor", "tiles", "speedup", "provenance"):
            self.assertIsNone(refused[key], key)

    def test_the_parts_of_each_rank_add_up_to_the_makespan(self):
        for s in self.ran[:3]:
            for parts in zip(s["compute_ns"], s["wait_late_peer_ns"], s["wire_ns"], s["other_ns"]):
                self.assertEqual(sum(parts), s["makespan_ns"])
            self.assertEqual(sum(bytes for tensor, bytes in s["bytes_by_tensor"].items() if tensor not in ("boundary", "metadata")), sum(s["bytes_sent"]))

    def test_a_plan_has_the_same_figures_without_times(self):
        for planned, ran in zip(valid(spscope("plan", *SMALL, "--set", "run.mode=simulate", "--json"), SCHEMA)["strategies"], self.ran):
            for key in ("bytes_sent", "bytes_by_tensor", "messages", "tiles", "coupled_imbalance_ratio"):
                self.assertEqual(planned[key], ran[key], key)
            self.assertIsNone(planned["makespan_ns"])

    def test_figures_are_what_the_queries_of_the_docs_find(self):
        queries = re.findall(r"^## .*\n`(\w+)`(?:.+\n)+?\* In SQL: `(.+?)`", (SCHEMAS.parent / "docs/metrics.md").read_text("utf-8"), re.M)
        self.assertGreater(len(queries), 2)
        for key, query in queries:
            self.assertIn(" strategy_id = 1", query)
            for number, s in enumerate(self.ran[:3], 1):
                found = json.loads(spscope("sql", self.stores["small"], query.replace(" strategy_id = 1", f" strategy_id = {number}"), "--json"))["rows"]
                self.assertEqual(found, [[s[key]]], (key, s["id"]))

    def test_compare_finds_a_regression(self):
        slow = shutil.copy(self.stores["small"], self.folder / "slow.db")
        with sqlite3.connect(slow) as database:
            database.execute("UPDATE repeat SET makespan_ns = makespan_ns * 2")
        database.close()
        compare = ["compare", self.stores["small"], slow, "--fail-above", "5%"]
        changes = valid(spscope(*compare, "--json", code=3), SCHEMA)["changes"]
        self.assertEqual([(c["slower_by"], c["regression"]) for c in changes[:3]], [(1, True)] * 3)
        self.assertIn("REGRESSION: slower", spscope(*compare, code=3))


if __name__ == "__main__":
    unittest.main()
