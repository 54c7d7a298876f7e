#!/usr/bin/env bash
# --progress=json prints one object a line on standard error, and nothing else goes there: every phase, counts that are
# never above their totals, and a time that is left once it is known.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

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
    assert list(d) == KEYS, d
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
assert lines[-1]["phase"] == "done" and lines[-1]["done"] == total
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
