#!/usr/bin/env bash
# A sweep writes one table, checks every cell first, and goes on where it was stopped.
. "$(dirname -- "$0")/common.inc"

run=(-s ring -s ulysses --set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set model.head_dim=24)
over=(--over "mask.density=0.2,0.4" --over "cluster.ranks=2,4")
expect_exit 0 sweep "${run[@]}" "${over[@]}" --seeds 2 -o sweep.csv --figures figures
expect_err '4 cells are in sweep.csv'
cp sweep.csv whole.csv
python3 -B - <<'PYTHON' || fail "the table is not tidy"
import csv
rows = list(csv.DictReader(open("sweep.csv", newline="")))
assert len(rows) == 8 and {r["strategy"] for r in rows} == {"ring", "ulysses"}
assert {(r["mask.density"], r["cluster.ranks"]) for r in rows} == {(d, n) for d in ("0.2", "0.4") for n in ("2", "4")}
assert all(r["seeds"] == "2" and int(r["layer_ns"]) > 0 and int(r["layer_ns_spread"]) >= 0 for r in rows)
assert all(r["status"] == "ok" and r["compute"] == "modelled" for r in rows)
assert all(r["scope"] == "attention" for r in rows)
assert all(abs(float(r["density"]) - float(r["mask.density"])) < 0.05 for r in rows)
PYTHON
[ "$(find figures -name '*.svg' | wc -l)" -eq 2 ] || fail "there are not two figures"
python3 -c 'import sys, xml.dom.minidom as x; [x.parse(f) for f in sys.argv[1:]]' figures/*.svg || fail "a figure is no XML"
for figure in figures/*.svg; do
  grep -q '>wan-mini, [24] x h100, attention</text>' "$figure" || fail "a figure does not say its model and cluster"
done
expect_exit 0 sweep "${run[@]}" --over run.scope=attention,layer -o scopes.csv
python3 -B -c 'import csv; rows = list(csv.DictReader(open("scopes.csv"))); assert len(rows) == 4 and all(r["scope"] == r["run.scope"] for r in rows)' ||
  fail "the table does not say its scope"

# Cells that are there are not run again, and missing ones are added.
grep -v '^0.4,4,' whole.csv >sweep.csv
sed -i 's/^\(0.2,2,ring,[^,]*,ok,2,\)[0-9]*/\11234/' sweep.csv
expect_exit 0 sweep "${run[@]}" "${over[@]}" --seeds 2 -o sweep.csv
grep -q '^0.2,2,ring,.*,1234,' sweep.csv || fail "a finished cell was run again"
[ "$(wc -l <sweep.csv)" -eq 9 ] || fail "the missing cell was not added"
expect_exit 0 sweep "${run[@]}" "${over[@]}" --seeds 2 -o sweep.csv --force
cmp -s sweep.csv whole.csv || fail "--force does not begin anew"

# A cluster file with other contents is another cell, whatever its name.
cp "$samples/cluster-a800-2node.toml" mine.toml
own=(-s ring --set run.mode=simulate --set cluster.profile=mine.toml --set model.heads=8 --set model.head_dim=24)
expect_exit 0 sweep "${own[@]}" --over cluster.ranks=2 -o own.csv
expect_err '1 cell is in own.csv'
cp own.csv first.csv
expect_exit 0 sweep "${own[@]}" --over cluster.ranks=2 -o own.csv
cmp -s own.csv first.csv || fail "the same cell was run again"
sed -i 's/^attend_ns_per_pair_channel = { value = 2.564e-05/attend_ns_per_pair_channel = { value = 3.077e-05/' mine.toml
expect_exit 0 sweep "${own[@]}" --over cluster.ranks=2 -o own.csv
! cmp -s own.csv first.csv || fail "a changed cluster file keeps old results"

# Stopped in the middle: what is done is in the table, which is whole.
begin sweep "${run[@]}" --set run.layers=4 --over mask.seed="$(seq -s , 1 400)" -o stopped.csv
has_rows() { [ -f stopped.csv ] && [ "$(wc -l <stopped.csv)" -gt 4 ]; }
wait_for has_rows
kill -TERM "$pid"
expect_end 1 "of an interrupted sweep"
expect_err 'the same command goes on from there'
[ "$(tail -c 1 stopped.csv | wc -l)" -eq 1 ] || fail "the table is cut"

expect_refused 'is not the table of a sweep over mask.seed' -- sweep "${run[@]}" --over mask.seed=1 -o sweep.csv
expect_refused 'has not the form KEY=VALUE' -- sweep "${run[@]}" --over mask.seed -o x.csv
expect_refused 'did you mean "mask.seed"?' -- sweep "${run[@]}" --over mask.sed=1,2 -o x.csv
expect_refused 'run.output says where files go' '-o names the table' -- sweep "${run[@]}" --over run.output=a.db,b.db -o x.csv
expect_refused 'run.scratch says where files go' -- sweep "${run[@]}" --over run.scratch=/tmp,/var/tmp -o x.csv
expect_refused 'cluster.ranks' -- sweep "${run[@]}" --over cluster.ranks=2,1000 -o x.csv
[ ! -e x.csv ] || fail "a refused sweep leaves a file"
