#!/usr/bin/env bash
# --progress=json prints one object a line on standard error, and nothing else goes there: every phase, counts that are
# never above their totals, a time that is left once it is known, and last how the run ended.
. "$(dirname -- "$0")/common.inc"

check_lines() {
  python3 -B - "$err" "$@" <<'PYTHON' || fail "progress is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
KEYS = ["phase", "strategy", "label", "strategy_number", "strategies", "layer", "layers", "denoise_step", "denoise_steps",
        "warmup", "warmups", "repeat", "repeats", "ranks_measured", "ranks_to_measure", "done", "total", "elapsed_s",
        "eta_s", "shards"]
total, phases = int(sys.argv[2]), sys.argv[3].split()
seen = []
for before, d in zip(lines[:1] + lines, lines):
    assert list(d) == KEYS + ([] if d is not lines[-1] else ["exit_code", "failure", "out"]), d
    for part, whole in [("done", "total"), ("warmup", "warmups"), ("repeat", "repeats"),
                        ("ranks_measured", "ranks_to_measure")]:
        assert 0 <= d[part] <= d[whole], d
    assert d["layer"] < d["layers"] and d["denoise_step"] < d["denoise_steps"] and d["total"] == total, d
    assert d["done"] >= before["done"] and d["elapsed_s"] >= before["elapsed_s"], (before, d)
    assert (d["strategy_number"] is None) == (d["strategy"] == ""), d
    assert d["eta_s"] is None or d["eta_s"] >= 0, d
    assert d["eta_s"] is not None or d["done"] < d["strategies"], d
    if not seen or d["phase"] != seen[-1]:
        seen.append(d["phase"])
assert lines[0]["eta_s"] is None
assert lines[-1]["phase"] == "done" and lines[-1]["done"] == total and lines[-1]["eta_s"] == 0
assert lines[-1]["exit_code"] == 0 and lines[-1]["failure"] is None and lines[-1]["out"] is None, lines[-1]
assert list(dict.fromkeys(seen)) == phases, seen
PYTHON
}

expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.layers=3 --set run.warmup=2 \
  --set run.repeats=3 --progress=json --json
check_lines 6 'input plan reference run check merge done'
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=2 --set run.mode=project --progress=json --json
check_lines 2 'input plan run merge done'
# What no strategy may run is over when its turn comes.
expect_exit 0 run "${small[@]}" -s ring -s usp:ulysses=7,ring=1 --set cluster.ranks=2 --set run.mode=simulate \
  --progress=json --json
check_lines 2 'input plan run merge done'

# Repeats are told about once a second; the last line says why a run failed, and what it left.
expect_last() {
  python3 -B - "$err" "$@" <<'PYTHON' || fail "the last line is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
code, exit_code, out = sys.argv[2:]
d = lines[-1]
assert d["exit_code"] == int(exit_code) and d["failure"]["code"] == code and d["failure"]["message"], d
assert d["out"] == (out or None) and d["eta_s"] == 0, d
assert all("exit_code" not in line for line in lines[:-1])
PYTHON
}
expect_exit 0 run "${small[@]}" -s ring --set run.repeats=3000 --set run.verify=off --progress=json
[ "$(wc -l <"$err")" -lt 300 ] || fail "a line for each repeat"
# Of phases that are shorter than a second not every one is told.
begin=$SECONDS
expect_exit 0 run "${small[@]}" -s ring --set run.mode=simulate --set run.denoise_steps=1000 --progress=json
told=$(wc -l <"$err")
if [ "$told" -lt 100 ] || [ "$told" -gt $((110 + SECONDS - begin)) ]; then
  fail "$told lines in $((SECONDS - begin)) s"
fi
expect_exit 2 run "${small[@]}" -s ring -s rng --set run.dtype=fp8 --headless
expect_last SPS-005 2 ''
expect_err 'did you mean' '--set run.dtype=fp8'
expect_exit 2 run "${small[@]}" -s usp:ulysses=7,ring=1 --headless -o kept.db
expect_last SPS-100 2 kept.db
expect_exit 2 run "${small[@]}" -s ring --headless -o kept.db
expect_last SPS-153 2 ''
