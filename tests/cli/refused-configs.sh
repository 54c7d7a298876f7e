#!/usr/bin/env bash
# Every mistake in a config or flag is named at once, as it was typed, with its place and the way to write what was meant; with
# --json as JSON too.
# cost: 5
. "$(dirname -- "$0")/common.inc"

part all-problems
# Every problem of a config is named at once, with line and column, and the nearest known name where there is one.
lines bad.toml \
  '[model]' 'preset = "wan-mni"' 'heads = -4' 'grid = [4, 14]' \
  '[mask]' 'patern = "paro"' 'density = nan' 'block = 1000' \
  '[mask.window]' 'radus = 2' \
  '[run]' 'mode = "exceute"' 'strategies = ["ulises", "ring"]' 'repeats = "five"' 'layers = 2.5' \
  '[strategy.usp]' 'ulyses = 2' 'ring = "two"' \
  '[strategy.rng]' 'order = 1' \
  '[clustr]' 'ranks = 4'
for command in run plan; do
  expect_refused \
    'model.preset: "wan-mni"' 'bad.toml:2:10' 'did you mean "wan-mini"?' \
    'model.heads: -4 is outside' 'bad.toml:3:9' 'model.grid' 'bad.toml:4:8' \
    'mask.patern' 'bad.toml:6:1' 'did you mean "mask.pattern"?' 'mask.density: nan' 'bad.toml:7:11' \
    'mask.block: 1000 is outside' 'bad.toml:8:9' 'mask.window.radus' 'bad.toml:10:' 'did you mean "radius"?' \
    'run.mode: "exceute"' 'bad.toml:12:8' 'did you mean "execute"?' \
    'run.strategies: "ulises"' 'bad.toml:13:14' 'did you mean "ulysses"?' \
    'run.repeats' 'bad.toml:14:11' 'run.layers' 'bad.toml:15:10' \
    'strategy.usp.ulyses' 'bad.toml:17:' 'did you mean "ulysses"?' 'strategy.usp.ring' 'bad.toml:18:' \
    'strategy.rng' 'did you mean "ring"?' 'clustr.ranks' 'bad.toml:22:1' 'did you mean "cluster.ranks"?' \
    -- "$command" bad.toml
done
expect_files bad.toml

part hints
# A mistake in a config or flag is shown as it was typed, with the way to write what was meant.
expect_refused 'did you mean "mask.sparge.cdf"?' -- plan --set mask.cdf=0.9
expect_refused 'did you mean "mask.seed" or "run.seed"?' -- plan --set seed=3
expect_refused '[mask.paro]' -- plan --set mask.pattern=paro:kappa=1.5
expect_refused 'usp:ulysses=4,ring=2' '"usp(4,2)"' -- plan -s 'usp(4,2)'
expect_refused -- plan -s usp:ulyses=4
expect_err '--> -s usp:ulyses=4' 'did you mean "ulysses"?'
expect_not_err 'run.strategies='
expect_refused 'mask.file' '--> --set mask.file=none.npy' -- plan --set mask.file=none.npy
expect_refused '41 is outside (0, 1]' '0.41' -- plan --set mask.density=41
expect_refused '--set run.repeats=5' -- run --set run.repeats=abc
expect_refused 'SPS-005' "--set 'run.collect=[\"nvml\", \"cupti\"]'" -- plan --set run.collect=nvml,cupti
expect_refused 'SPS-006' 'leave nccl out; spscope attach' -- plan --set run.collect=nccl
lines typed.toml '[run]' 'repeats = "many"'
expect_refused 'typed.toml:2' 'repeats = ' -- plan typed.toml
for value in simulate wan2.1-t2v-14b ./a.npy 'a b'; do
  lines bare.toml '[model]' 'layers = 2' "preset = $value  # a comment" '[run]'
  expect_refused 'bare.toml:3' "preset = \"$value\"" -- plan bare.toml
done
lines bare.toml '[run]' 'repeats = 2' 'repeats = 3'
expect_refused 'bare.toml:3' 'key = value' -- plan bare.toml
expect_refused '-s ring -s usp:ulysses=2,ring=2 -s ulysses,' '["ring", "usp:ulysses=2,ring=2", "ulysses"]' \
  -- plan -s ring,usp:ulysses=2,ring=2,ulysses
expect_refused '--set run.repeats=5' -- run --set run.repeats 5
expect_not_err '"5"'
expect_refused '--set run.repeats=VALUE' -- run --set run.repeats --set run.dtype=fp32
cp "$samples/photo_mask.npy" mask.npy
expect_refused 'numpy' 'mask.npy' 'mask.file' 'model.activations' -- run mask.npy
head -c 1000 "$samples/photo_qkv.safetensors" >qkv.safetensors
expect_refused 'qkv.safetensors' 'mask.file' -- run qkv.safetensors
expect_refused 'SPS-007' 'none.toml' 'TOML file' "looked for $PWD/samples/none.toml" -- run samples/none.toml
expect_exit 0 run "${small[@]}" -s ring -o kept.db
expect_err 'kept in kept.db'
expect_refused 'spscope compare kept.db' -- run kept.db

part problems-json
# With --json, every problem of a config is printed as JSON too, with its field and place; and so is any other fault of
# what was given. The text on standard error stays.
lines bad.toml '[model]' 'preset = "wan-mni"' 'heads = -4' '[run]' 'mode = "exceute"' '[clustr]' 'ranks = 4'
for command in run plan advise "sweep --over run.seed=1,2 -o table.csv"; do
  # shellcheck disable=SC2086
  expect_exit 2 $command bad.toml --json
  expect_err 'error SPS-' 'bad.toml:2:10'
  expect_json 'set(d) == {"problems"}' 'len(d["problems"]) == 4' \
    '{(p["field"], p["line"], p["column"]) for p in d["problems"]} >= {("model.preset", 2, 10), ("model.heads", 3, 9), ("run.mode", 5, 8)}' \
    '[p for p in d["problems"] if p["line"] == 7 and "clustr.ranks" in p["field"]] != []' \
    'all(p["file"].endswith("bad.toml") and p["code"].startswith("SPS-") and p["message"] for p in d["problems"])' \
    '"wan-mini" in [p for p in d["problems"] if p["field"] == "model.preset"][0]["hint"]'
done

expect_exit 2 run --json --set run.mode=fast
expect_json 'd["problems"][0]["field"] == "run.mode"'
expect_exit 2 compare --json missing.db
expect_json 'len(d["problems"]) == 1' '"missing.db" in d["problems"][0]["message"]' 'd["problems"][0]["line"] is None'
if python3 -c 'import jsonschema' 2>/dev/null; then
  python3 - "$out" "$SOURCE_DIR/schemas/problems.schema.json" <<'END' || fail "not as the schema says"
import json, sys
import jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))
END
fi

part own-cluster
# A cluster of one's own starts from a printed preset or the sample; all keys that it lacks are named at once.
for name in a800x8 p4de-xN local; do
  expect_exit 0 list clusters --toml $name
  cp "$out" mine.toml
  expect_exit 0 plan -s ring --set run.mode=simulate --set cluster.ranks=4 --set cluster.profile=mine.toml
done
expect_refused 'did you mean "a800x8"?' -- list clusters --toml a80x8
expect_refused '--toml' -- list models --toml a800x8
expect_exit 0 plan -s ring --set run.mode=simulate --set model.heads=16 --set cluster.ranks=16 \
  --set "cluster.profile=$samples/cluster-a800-2node.toml" --json
expect_json 'sum(s["ring"]["bytes_sent_inter_node"]) > 0'
lines mine.toml 'name = "mine"'
expect_refused 'network.link_gbps' 'network.provenance' 'cost.provenance' 'cost.gemm_ns_per_flop' 'network.compute_slowdown' \
  'link_gbps = { value = ..., source = "where it is from" }' -- plan --set cluster.profile=mine.toml

part cluster-profile
# cluster.profile: a copy of a preset works like it; a missing one is refused.
cp "$SOURCE_DIR/backend/config/clusters/a800x8.toml" mine.toml
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --json
grep '"makespan_ns"' "$out" >preset
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --set cluster.profile="$PWD/mine.toml" --json
grep '"makespan_ns"' "$out" | cmp - preset || fail "the profile does not act like the preset it is a copy of"
expect_refused 'missing.toml' -- plan --set cluster.profile=missing.toml
