#!/usr/bin/env bash
# A report as a page, Markdown, JSON, tables, pictures, and of several files.
. "$(dirname -- "$0")/common.inc"

part forms
# A report is one HTML page without outside parts, Markdown or JSON, by the name of its file or by --format.
expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=1 -o kept.db
expect_exit 0 report kept.db -o page.html
grep -qi '^<!doctype html>' page.html || fail "no HTML page"
! grep -iE '<link|src=|https?://' page.html | grep -qvE 'src="data:image/png;base64,' || fail "the page needs outside parts"
grep -q 'usp u4 r2' page.html || fail "a strategy is missing"
expect_exit 0 report kept.db -o page.md
grep -q '^|.*usp u4 r2' page.md || fail "no table in Markdown"
expect_exit 0 report kept.db --format json
cp "$out" said
expect_exit 0 compare kept.db --json
cmp "$out" said || fail "the JSON of report and compare differ"
# -o - is standard output, and never a file of that name.
for form in '' '--format html' '--json'; do
  # shellcheck disable=SC2086 # a flag and its value
  expect_exit 0 report kept.db $form
  cp "$out" said
  # shellcheck disable=SC2086
  expect_exit 0 report kept.db $form -o -
  cmp "$out" said || fail "-o - prints something else: $form"
done
expect_refused '-o FOLDER' -- report kept.db --format csv -o -
expect_refused 'SPS-158' 'standard output' './-' -- run "${small[@]}" -s ring -o -
expect_refused 'SPS-158' 'standard output' -- export kept.db --format chrome -o -
expect_files kept.db page.html page.md said

part csv
# `report --format csv` writes a file for each table, whose numbers are those of --json to the last digit.
expect_exit 0 run --set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set run.denoise_steps=2 -s ulysses -s ring -o kept.db
expect_refused '-o FOLDER' -- report kept.db --format csv
expect_exit 0 report kept.db --format csv -o tables
expect_err 'wrote 6 tables'
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
    heads = [r for r in rows("heads") if r["strategy"] == s["id"]]
    assert [r["rank"] for r in heads[:8]] == [str(h) if s["id"] == "ulysses" else "" for h in range(8)]
    for layer in s["by_layer"]:
        of = [float(r["density"]) for r in heads if int(r["denoise_step"]) == layer["denoise_step"] and int(r["layer"]) == layer["layer"]]
        assert len(of) == 8 and abs(sum(of) / 8 - layer["density"]) < 0.002, (of, layer)
    assert {r["term"]: int(r["mean_over_ranks_ns"]) for r in rows("terms") if r["strategy"] == s["id"]} == s["terms_ns"]
END
expect_exit 2 report kept.db --format csv -o tables
expect_exit 0 report kept.db --format csv -o tables --force

part heads
# The pictures of heads on a page are the thumbnails of the file: another reader of PNG gets the grades of their cells, and
# the densities below them are those of the cells.
expect_exit 0 run --set run.mode=simulate --set model.heads=8 --set run.layers=1 --set run.denoise_steps=2 -s ring -o kept.db
expect_exit 0 report kept.db -o page.html
python3 - kept.db page.html <<'END' || fail "the pictures are not the thumbnails"
import base64, re, sqlite3, sys, zlib

def indices(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        data = png[at + 8:at + 8 + size]
        assert int.from_bytes(png[at + 8 + size:at + 12 + size], "big") == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    rows = zlib.decompress(chunks[b"IDAT"])
    assert chunks[b"IHDR"][:8] == bytes([0, 0, 0, 64] * 2) and len(rows) == 64 * 33 > 2 * len(chunks[b"IDAT"])
    return [n for row in range(64) for byte in rows[row * 33 + 1:row * 33 + 33] for n in (byte >> 4, byte & 15)]

stored = sqlite3.connect(sys.argv[1]).execute(
    "SELECT p.denoise_step, t.cells FROM mask_thumbnail t JOIN mask_place p USING (mask_id) ORDER BY 1, head").fetchall()
shown = re.findall(r'aria-label="head (\d+), density ([\d.]+) %">.*?href="data:image/png;base64,([^"]*)"', open(sys.argv[2]).read())
assert len(shown) == len(stored) == 16, (len(shown), len(stored))
for (step, cells), (head, density, data) in zip(stored, shown):
    assert indices(base64.b64decode(data)) == [0 if c == 0 else 1 + (c - 1) * 15 // 255 for c in cells]
    assert abs(float(density) - 100 * sum(cells) / 255 / 4096) <= 0.5
END

part several-files
# A report of several files has a part for each, and what changed where `compare` compares them, else why not.
model=(--set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 -s ulysses -s ring)
expect_exit 0 run "${model[@]}" -o before.db
expect_exit 0 run "${model[@]}" --set run.seed=2 -o after.db
expect_exit 0 run "${model[@]}" --set run.denoise_steps=2 -o other.db
expect_exit 0 report before.db after.db --format markdown
cp "$out" report.md
expect_out '## before.db: ' '## after.db: ' '## From before.db to after.db' 'run.seed'
expect_exit 0 compare before.db after.db --json
python3 - "$out" report.md <<'END' || fail "the changes are not those of compare"
import json, sys
text = open(sys.argv[2]).read().partition("## From before.db")[2].partition("What the numbers mean")[0]
changes = json.load(open(sys.argv[1]))["changes"]
assert changes and all(c["label"] in text for c in changes)
END
expect_exit 0 report before.db other.db --format markdown
expect_out '## From before.db to other.db' 'the files hold different workloads: denoise'
expect_exit 0 report before.db after.db -o page.html
for part in 'id="part2-summary"' 'From before.db to after.db'; do grep -q "$part" page.html || fail "the page lacks $part"; done
