"""`spscope explain`: JSON against its schema, and sums that must hold, against `compare` and the tables of the file.

Usage: test_explanations.py PROGRAM
"""
import json
import sqlite3
import unittest

from stored import StoredRuns, read_schema, spscope, valid

SCHEMA = read_schema("explanation")
ONE = ["--set", "run.layers=1", "--set", "run.denoise_steps=1"]
PASSES = {"one": 1, "layers": 6, "nodes": 1}


class Explanations(StoredRuns):
    RUNS = {
        "one": ["--set", "model.grid=[2,8,8]", *ONE, "-s", "ulysses", "-s", "ring", "-s", "usp:ulysses=2,ring=2"],
        "layers": ["--set", "model.grid=[3,8,8]", "--set", "cluster.preset=h100x8", "--set", "cluster.ranks=4", "--set",
                   "run.layers=3", "--set", "run.denoise_steps=2", "-s", "ulysses", "-s", "ring", "-s", "dbsp"],
        "nodes": ["--set", "model.preset=wan2.1-t2v-1.3b", "--set", "cluster.preset=p4de-x2", "--set", "mask.pattern=paro",
                  "--set", "cluster.ranks=16", *ONE, "-s", "ring", "-s", "usp:ulysses=4,ring=4"],
    }

    def explained(self, name, *arguments):
        return valid(spscope("explain", self.stores[name], "--json", *arguments), SCHEMA)

    def compared(self, name):
        return json.loads(spscope("compare", self.stores[name], "--json"))["strategies"]

    def rows(self, name, query, *values):
        with sqlite3.connect(self.stores[name]) as database:
            return database.execute(query, values).fetchall()

    def test_parts_add_up_in_every_layer_pass(self):
        for name, passes in PASSES.items():
            places = self.rows(name, "SELECT DISTINCT layer, denoise_step FROM run")
            self.assertEqual(len(places), passes)
            totals = {}
            for layer, step in places:
                result = self.explained(name, "--layer", layer, "--step", step)
                self.assertEqual((result["layer"], result["denoise_step"]), (layer, step))
                for s in result["strategies"]:
                    totals[s["id"]] = totals.get(s["id"], 0) + s["makespan_ns"]
                    self.check_strategy(s)
                self.check_reasons(result)
            self.assertEqual(totals, {s["id"]: s["makespan_ns"] for s in self.compared(name)})

    def check_strategy(self, s):
        path = s["critical_path"]
        reached = 0
        for step in path["steps"]:
            self.assertEqual(step["begin_ns"], reached)
            reached = step["end_ns"]
        self.assertEqual(reached, s["lead_ns"] + s["makespan_ns"])
        self.assertEqual(sum(path["shares_ns"].values()), reached)
        self.assertEqual(sum(r["ns"] for r in path["ranks"]), s["makespan_ns"])
        for terms in (path["terms_ns"], s["mean_terms_ns"]):
            self.assertEqual(sum(terms.values()), s["makespan_ns"])
        self.assertEqual(path["terms_ns"]["late_peer"] + path["terms_ns"]["end_wait"], 0)
        self.assertGreaterEqual(min(s["slack_ns"]), 0)
        waited = [0] * len(s["wait_late_peer_ns"])
        for wait in s["waits"]:
            waited[wait["rank"]] += wait["wait_ns"]
        self.assertEqual(waited, s["wait_late_peer_ns"])
        for straggler in s["stragglers"]:
            parts = straggler["more_tiles_ns"] + straggler["slower_tiles_ns"] + straggler["other_ns"]
            self.assertEqual(parts, straggler["excess_ns"])
        self.assertEqual((s["edits"][0]["edit"], s["edits"][0]["makespan_ns"]), ("none", s["makespan_ns"]))

    def check_reasons(self, result):
        fastest = next(s for s in result["strategies"] if s["id"] == result["fastest"])
        self.assertIsNone(fastest["why_slower"])
        for s in result["strategies"]:
            if why := s["why_slower"]:
                self.assertEqual(why["difference_ns"], s["makespan_ns"] - fastest["makespan_ns"])
                for kind, mine, other in (("path", s["critical_path"]["terms_ns"], fastest["critical_path"]["terms_ns"]),
                                          ("mean", s["mean_terms_ns"], fastest["mean_terms_ns"])):
                    self.assertEqual(why[f"{kind}_terms_ns"], {t: mine[t] - other[t] for t in mine})

    def test_one_layer_pass_has_the_terms_of_compare(self):
        for name in ("one", "nodes"):
            explained = {s["id"]: s for s in self.explained(name)["strategies"]}
            for s in self.compared(name):
                self.assertEqual(explained[s["id"]]["mean_terms_ns"], s["terms_ns"])
                self.assertEqual(explained[s["id"]]["wait_late_peer_ns"], s["wait_late_peer_ns"])

    # Between two nodes every hop of the ring waits for those that cross: only the NIC is on the path.
    def test_a_ring_over_two_nodes_is_held_back_by_the_wire_between_them(self):
        ring = next(s for s in self.explained("nodes")["strategies"] if s["id"] == "ring")
        why = ring["why_slower"]
        self.assertEqual(why["causes"], ["wire_between"])
        edits = {e["edit"]: e["makespan_ns"] for e in ring["edits"]}
        self.assertLess(edits["faster_nics"], 0.7 * edits["none"])
        self.assertGreater(edits["faster_links"], 0.99 * edits["none"])

    def test_without_a_place_it_is_the_slowest_layer_pass(self):
        result = self.explained("layers")
        slowest, = self.rows("layers", "SELECT layer, denoise_step FROM run JOIN repeat USING (run_id) "
                             "GROUP BY layer, denoise_step ORDER BY sum(makespan_ns) DESC LIMIT 1")
        self.assertEqual((result["layer"], result["denoise_step"]), slowest)

    # The tiles that owners say are those that the run counted.
    def test_owners_of_tiles_add_up_to_what_ranks_computed(self):
        for name in self.RUNS:
            for layer, step in self.rows(name, "SELECT DISTINCT layer, denoise_step FROM run"):
                found = spscope("mask", "info", self.stores[name], "--layer", layer, "--step", step, "--json")
                for owners in json.loads(found)["owners"]:
                    counted = self.rows(name, "SELECT rank_usage.tiles FROM rank_usage JOIN run USING (run_id) JOIN strategy USING "
                                        "(strategy_id) WHERE id = ? AND layer = ? AND denoise_step = ? ORDER BY rank",
                                        owners["id"], layer, step)
                    for tiles, (stored,) in zip(owners["tiles_by_rank"], counted, strict=True):
                        self.assertAlmostEqual(tiles, stored, delta=1e-6 * max(1, stored))


if __name__ == "__main__":
    unittest.main()
