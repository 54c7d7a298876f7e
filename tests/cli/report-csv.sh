#!/usr/bin/env bash
# `report --format csv` writes a file for each table, whose numbers are those of --json to the last digit.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run --set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set run.denoise_steps=2 -s ulysses -s ring -o kept.db
expect_refused '-o FOLDER' -- report kept.db --format csv
expect_exit 0 report kept.db --format csv -o tables
expect_err 'wrote 5 tables'
[ ! -s "$out" ] || fail "something was printed"
expect_exit 0 report kept.db --json
python3 - "$out" tables <<'END' || fail "the tables differ from the JSON"
import csv, json, sys
result = json.load(open(sys.argv[1]))
strategies = {s["id"]: s for s in result["strategies"]}
def rows(name):
    text = open(f"{sys.argv[2]}/{name}.csv", newline="", encoding="utf-8").read()
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", "")
    return list(csv.DictReader(text.splitlines()))
def same(told, value):
    return told == "" if value is None else float(told) == value
seen = rows("strategies")
assert [r["strategy"] for r in seen] == list(strategies)
for r in seen:
    for key in ("makespan_ns", "speedup", "imbalance_ratio", "bound_ns", "tiles", "messages", "makespan_spread_ns"):
        assert same(r[key], strategies[r["strategy"]][key]), (key, r)
passes = rows("layer_passes")
assert len(passes) == sum(len(s["by_layer"]) for s in strategies.values()) > 0
for s in strategies.values():
    for told, layer in zip([r for r in passes if r["strategy"] == s["id"]], s["by_layer"]):
        for key in ("denoise_step", "layer", "makespan_ns", "density", "imbalance_ratio", "slowest_excess"):
            assert same(told[key], layer[key]), (key, told)
    ranks = [r for r in rows("ranks") if r["strategy"] == s["id"]]
    for key in ("compute_ns", "wait_late_peer_ns", "wire_ns", "other_ns", "bytes_sent", "waited_for_ns"):
        assert [float(r[key]) for r in ranks] == s[key], key
    assert {r["term"]: int(r["mean_over_ranks_ns"]) for r in rows("terms") if r["strategy"] == s["id"]} == s["terms_ns"]
END
expect_exit 2 report kept.db --format csv -o tables
expect_exit 0 report kept.db --format csv -o tables --force
