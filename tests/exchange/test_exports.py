"""Exports: what Python's readers of SQLite and JSON find is what `spscope sql` says, and nothing of others is
replaced.

Usage: test_exports.py PROGRAM
"""
import collections
import json
import math
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
SMALL = ["--set", "model.grid=[2,8,8]", "--set", "run.repeats=2", "--set", "run.mode=project"]
VIEWS = sorted(path.stem for path in (ROOT / "schemas/views").glob("*.sql"))
EVENT = ("event_id run_id track_id rank lane slot begin_ns end_ns op_id name category depth unfinished clamped modelled"
         " entry_ns transfer_begin_ns transfer_end_ns sequence bytes communicator_id peer repeat track_kind correlation_id"
         " work_detail_id").split()
PACKED = {"chunk", "pyramid", "lod_busy", "lod_strip"}


def spscope(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=240)


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.stored = cls.folder / "run.db"
        done = spscope("run", *SMALL, "-s", "ulysses", "-s", "ring", "-s", "usp:ulysses=2,ring=2", "-o", cls.stored)
        assert done.returncode == 0, done.stderr
        cls.columns, cls.events = cls.ask(f"SELECT {', '.join(EVENT)} FROM event ORDER BY event_id")

    @classmethod
    def ask(cls, sql):
        done = spscope("sql", cls.stored, sql, "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout, parse_int=str, parse_float=str)
        assert not answer["truncated"]
        return answer["columns"], answer["rows"]

    def export(self, form, name, *flags):
        done = spscope("export", self.stored, "--format", form, "-o", self.folder / name, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def assert_same_rows(self, found, expected, table):
        """Rows of texts and None in any order. Reals of 15 digits and of 17 agree when they are equal to 14."""
        def is_real(value):
            return re.fullmatch(r"-?\d+\.\d*(e[-+]\d+)?|-?\d+e[-+]\d+", str(value)) is not None

        def in_order(rows):
            rows = [["" if v is None else str(v) for v in row] for row in rows]
            return sorted(rows, key=lambda row: [f"{float(v):.6e}" if is_real(v) else v for v in row])

        def agree(a, b):
            return a == b or is_real(a) and is_real(b) and math.isclose(float(a), float(b), rel_tol=1e-14)
        found, expected = in_order(found), in_order(expected)
        self.assertEqual(len(found), len(expected), table)
        for a, b in zip(found, expected):
            self.assertTrue(len(a) == len(b) and all(map(agree, a, b)), (table, a, b))

    def tables(self):
        _, rows = self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for name, in rows if name not in PACKED]

    def test_plain_sqlite_holds_every_event_table_and_view(self):
        db = sqlite3.connect(self.export("plain-sqlite", "plain.db"))
        cursor = db.execute("SELECT * FROM event ORDER BY event_id")
        self.assertEqual([c[0] for c in cursor.description], self.columns + ["name_id", "category_id"])
        rows = [[None if v is None else str(v) for v in row[:-2]] for row in cursor]
        self.assertGreater(len(rows), 50)
        self.assertEqual(rows, self.events)
        for table in self.tables() + VIEWS + ["event_stats"]:
            sql = f"SELECT * FROM {table}"
            if table in ("plan", "plan_part", "mask", "mask_thumbnail"):  # of bytes, their lengths
                sql = f"SELECT length({'cells' if table == 'mask_thumbnail' else 'data'}) FROM {table}"
            with self.subTest(table):
                columns, expected = self.ask(sql)
                found = db.execute(sql)
                self.assertEqual([c[0] for c in found.description], columns)
                self.assert_same_rows([[None if v is None else repr(v) if isinstance(v, float) else str(v) for v in row]
                                       for row in found], expected, table)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_chrome_holds_every_event_to_the_nanosecond(self):
        trace = json.loads(self.export("chrome", "trace.json").read_text("utf-8"), parse_float=Fraction)
        slices = {e["args"]["event"]: e for e in trace["traceEvents"] if e["ph"] == "X" and "event" in e["args"]}
        self.assertEqual(len(slices), len(self.events))
        of = {name: i for i, name in enumerate(self.columns)}
        for row in self.events:
            e = slices[int(row[of["event_id"]])]
            begin, end = int(row[of["begin_ns"]]), int(row[of["end_ns"]])
            self.assertEqual((Fraction(e["ts"]) * 1000, Fraction(e["dur"]) * 1000), (begin, end - begin))
            self.assertEqual((e["pid"], e["tid"]), (int(row[of["rank"]]), int(row[of["track_id"]])))
            modelled = row[of["modelled"]] == "1"
            self.assertEqual(e["name"], row[of["name"]] + (" (modelled)" if modelled else ""))
            self.assertEqual(e["args"].get("modelled", False), modelled)
            self.assertEqual((e["cat"], e["args"]["op"], e["args"]["run"]),
                             (row[of["category"]], int(row[of["op_id"]]), int(row[of["run_id"]])))
            if row[of["bytes"]] is not None:
                self.assertEqual(e["args"]["bytes"], int(row[of["bytes"]]))
        self.assertTrue(any(e["args"].get("modelled") for e in slices.values()))
        names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in trace["traceEvents"] if e["name"].endswith("_name")}
        _, tracks = self.ask("SELECT rank, track_id, lane FROM track")
        for rank, track, lane in tracks:
            self.assertEqual(names[int(rank), None], f"rank {rank}")
            self.assertEqual(names[int(rank), int(track)], f"lane {lane} ({'compute' if lane == '0' else 'communication'})")

    def test_chrome_shows_runs_and_their_repeats_above_the_lanes(self):
        measured = self.folder / "measured.db"
        done = spscope("run", *SMALL, "--set", "run.mode=execute", "--set", "cluster.ranks=2", "-s", "ring", "-s", "ulysses",
                       "-o", measured)
        self.assertEqual(done.returncode, 0, done.stderr)
        for stored, modelled in ((self.stored, True), (measured, False)):
            with self.subTest(modelled=modelled):
                out = self.folder / f"repeats-{modelled}.json"
                self.assertEqual(spscope("export", stored, "--format", "chrome", "-o", out).returncode, 0)
                self.check_repeats(json.loads(out.read_text("utf-8"), parse_float=Fraction)["traceEvents"], stored, modelled)

    def check_repeats(self, events, stored, modelled):
        slices = sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["pid"], e["tid"], e["ts"], -e["dur"]))
        parents = []  # what the slice at hand lies in
        for e in slices:
            e["end"] = e["ts"] + e["dur"]
            while parents and ((e["pid"], e["tid"]) != (parents[-1]["pid"], parents[-1]["tid"]) or e["ts"] >= parents[-1]["end"]):
                parents.pop()
            if parents and e["dur"] > 0:
                self.assertLessEqual(e["end"], parents[-1]["end"], "a slice leaves the one it begins in")
            self.assertEqual([p["cat"] for p in parents], ["run"] if e["cat"] == "repeat" else [])
            if parents:
                self.assertEqual(e["args"]["run"], parents[-1]["args"]["run"])
            parents.append(e)
        tracks = {(e["pid"], e["tid"]) for e in slices if e["cat"] in ("run", "repeat")}
        self.assertFalse(tracks & {(e["pid"], e["tid"]) for e in slices if "event" in e["args"]})
        names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertEqual({names[track] for track in tracks}, {"runs and repeats"})
        mark = " (modelled)" if modelled else ""
        repeats = {(e["pid"], e["args"]["run"], e["args"]["repeat"]): e for e in slices if e["cat"] == "repeat"}
        for (_, _, number), e in repeats.items():
            self.assertEqual((e["name"], e["args"].get("modelled", False)), (f"repeat {number}{mark}", modelled))
        db = sqlite3.connect(stored)  # tables that are not packed
        wanted = db.execute("SELECT u.rank, r.run_id, p.repeat FROM run r JOIN repeat p USING (run_id) JOIN rank_usage u USING (run_id)")
        self.assertEqual(sorted(repeats), sorted(wanted))
        titles = db.execute("SELECT label || ', layer ' || layer || ', denoise step ' || denoise_step FROM run JOIN strategy USING (strategy_id)")
        self.assertEqual({e["name"] for e in slices if e["cat"] == "run"}, {title + mark for title, in titles})
        db.close()
        for e in slices:
            if "event" in e["args"]:
                around = repeats[e["pid"], e["args"]["run"], e["args"]["repeat"]]
                self.assertTrue(around["ts"] <= e["ts"] and e["end"] <= around["end"])

    def test_chrome_arrows_are_the_messages_of_the_plans(self):
        trace = json.loads(self.export("chrome", "arrows.json").read_text("utf-8"), parse_float=Fraction)
        ends, bytes_of = collections.defaultdict(dict), collections.Counter()
        for e in trace["traceEvents"]:
            if e["ph"] in "sf":
                self.assertNotIn(e["ph"], ends[e["id"]], "an end point twice")
                ends[e["id"]][e["ph"]] = e
        self.assertGreater(len(ends), 10)
        slices = collections.defaultdict(list)
        for e in trace["traceEvents"]:
            if e["ph"] == "X":
                slices[e["pid"], e["tid"]].append(e)
        for pair in ends.values():
            self.assertEqual(set(pair), {"s", "f"})
            start, finish = pair["s"], pair["f"]
            self.assertLessEqual(start["ts"], finish["ts"])
            for end in (start, finish):
                around = [x for x in slices[end["pid"], end["tid"]] if x["ts"] <= end["ts"] <= x["ts"] + x["dur"]]
                self.assertTrue(any(x["cat"] == "transfer" for x in around))
            sender = next(x for x in slices[start["pid"], start["tid"]]
                          if x["ts"] <= start["ts"] <= x["ts"] + x["dur"] and x["cat"] == "transfer")
            bytes_of[sender["args"]["strategy"], start["pid"], finish["pid"]] += start["args"]["bytes"]
        # What arrows carry in the repeats is what the ranks sent, once a repeat.
        _, sent = self.ask("SELECT s.id, t.src, t.dst, sum(t.bytes), (SELECT sum(p.has_timeline) FROM repeat p WHERE"
                           " p.run_id = r.run_id) FROM traffic t JOIN run r USING (run_id) JOIN strategy s"
                           " USING (strategy_id) WHERE s.id LIKE 'ring%' AND t.tensor IN ('k', 'v') GROUP BY 1, 2, 3")
        for strategy, src, dst, total, repeats in sent:
            self.assertEqual(repeats, "2")
            self.assertEqual(bytes_of[strategy, int(src), int(dst)], int(repeats) * int(total))
        self.assertTrue(sent)

    def test_chrome_shows_tracks_that_overlap_as_asynchronous_events(self):
        changed, out = self.folder / "overlapping.db", self.folder / "overlapping.json"
        shutil.copy(self.stored, changed)
        with sqlite3.connect(changed) as db:
            db.execute("UPDATE track SET overlapping = 1 WHERE rank = 1")
        db.close()
        self.assertEqual(spscope("export", changed, "--format", "chrome", "-o", out).returncode, 0)
        events = json.loads(out.read_text("utf-8"), parse_float=Fraction)["traceEvents"]
        of = {name: i for i, name in enumerate(self.columns)}
        expected = {int(row[of["event_id"]]): (int(row[of["begin_ns"]]), int(row[of["end_ns"]]))
                    for row in self.events if row[of["rank"]] == "1"}
        found = {phase: {e["id"]: Fraction(e["ts"]) * 1000 for e in events if e["ph"] == phase} for phase in "be"}
        self.assertEqual(found["b"], {key: begin for key, (begin, _) in expected.items()})
        self.assertEqual(found["e"], {key: end for key, (_, end) in expected.items()})
        self.assertEqual(sum(e["ph"] == "X" and "event" in e["args"] for e in events), len(self.events) - len(expected))

    def test_only_an_earlier_export_of_the_format_is_replaced(self):
        for form in ("plain-sqlite", "chrome"):
            with self.subTest(form):
                out = self.export(form, f"twice-{form}")
                again = ["export", self.stored, "--format", form, "-o", out]
                done = spscope(*again)
                self.assertEqual(done.returncode, 2)
                self.assertIn("SPS-153", done.stderr)
                self.assertEqual(spscope(*again, "--force").returncode, 0)
                for other in {"plain-sqlite", "chrome"} - {form}:
                    refused = spscope("export", self.stored, "--format", other, "-o", out, "--force")
                    self.assertEqual(refused.returncode, 2)
                    self.assertIn("SPS-151", refused.stderr)
                before = self.stored.read_bytes()
                refused = spscope("export", self.stored, "--format", form, "-o", self.stored, "--force")
                self.assertIn("SPS-151", refused.stderr)
                self.assertEqual(self.stored.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
