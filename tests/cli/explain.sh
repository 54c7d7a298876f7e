#!/usr/bin/env bash
# explain says what a layer pass consists of, of measured times too; what is not there is refused with what is.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" --set run.denoise_steps=1 --set cluster.ranks=3 -s ulysses -s ring -o executed.db
expect_exit 0 explain executed.db
expect_out 'Layer 0, denoise step 0, executed' 'ulysses u3' 'ring r3' 'All strategies' \
  'What if: the plan scheduled anew, modelled' 'With nothing changed, the model takes '
expect_width 120
expect_exit 0 explain executed.db --json
expect_json "d['mode'] == 'executed' and len(d['strategies']) == 2" \
  "all(s['makespan_ns'] == sum(s['critical_path']['terms_ns'].values()) for s in d['strategies'])" \
  "all(e['source'] == 'modelled' for s in d['strategies'] for e in s['edits'])"

# A repeat is explained by its own times, and the fastest is that of the repeat.
expect_exit 0 run "${small[@]}" --set run.denoise_steps=1 --set cluster.ranks=2 --set run.repeats=3 -s ulysses -s ring -o repeats.db
for repeat in 0 1 2; do
  expect_exit 0 sql repeats.db --json "SELECT strategy.id, makespan_ns FROM repeat JOIN run USING (run_id)
    JOIN strategy USING (strategy_id) WHERE repeat = $repeat AND layer = 0 ORDER BY 2"
  stored=$(python3 -c 'import json, sys; print({i: ns for i, ns in json.load(sys.stdin)["rows"]})' <"$out")
  expect_exit 0 explain repeats.db --layer 0 --step 0 --repeat "$repeat" --json
  expect_json "{s['id']: s['makespan_ns'] for s in d['strategies']} == $stored" "all(s['repeat'] == $repeat for s in d['strategies'])" \
    "d['fastest'] in (None, next(iter($stored)))"
done
expect_exit 0 explain repeats.db --repeat 7
expect_out 'it has no repeat 7'

# What a projected run measured is scheduled again to the same times.
expect_exit 0 run "${small[@]}" --set run.mode=project --set run.layers=2 --set cluster.ranks=3 -s ulysses -s ring -o projected.db
for layer in 0 1; do
  expect_exit 0 explain projected.db --layer "$layer" --step 0 --json
  expect_json "all(s['edits'][0]['makespan_ns'] == s['makespan_ns'] for s in d['strategies'])"
done

# Both attend the same tiles in the same time: what differs is that a ring's transfers run beside attention. The answer
# comes first, then two strategies, or those that are asked for.
hidden=(--set run.mode=simulate --set model.preset=cogvideox-2b --set mask.pattern=dense --set cluster.preset=4090x8
  --set cluster.ranks=8 --set run.layers=1 -s ulysses -s ring)
expect_exit 0 run "${hidden[@]}" -s usp:ulysses=2,ring=4 -o hidden.db
expect_out 'ulysses u8 is 7.' ' ms slower: 11.' ' ms of its transfers inside nodes are exposed, against '
expect_exit 0 explain hidden.db --json
expect_json "next(s for s in d['strategies'] if s['id'] == 'ulysses')['why_slower']['causes'] == ['wire_inside']" \
  "all('tiles' not in (s['why_slower'] or {'causes': []})['causes'] for s in d['strategies'])"
expect_exit 0 explain hidden.db
expect_out '--all and -s NAME also show' 'Late peer is the wait'
[ "$(wc -l <"$out")" -le 64 ] || fail "explain prints $(wc -l <"$out") lines"
[ "$(grep -n 'is fastest in this layer pass' "$out" | cut -d: -f1)" -lt 6 ] || fail "the answer is not at the top"
[ "$(grep -c 'What if: the plan' "$out")" -eq 2 ] || fail "explain does not show two strategies"
for arguments in --all '-s ulysses -s ring'; do
  # shellcheck disable=SC2086
  expect_exit 0 explain hidden.db $arguments
  [ "$(grep -c 'Where the time goes' "$out")" -eq 3 ] || fail "explain $arguments does not show three strategies"
done

# What a path has beside the end of the layer pass before is not time of this one.
expect_exit 0 run "${hidden[@]}" --set run.layers=2 -o two.db
expect_exit 0 explain two.db --layer 1 --json
expect_json "all(s['makespan_ns'] == sum(r['ns'] for r in s['critical_path']['ranks']) for s in d['strategies'])" \
  "any(s['lead_ns'] > 0 for s in d['strategies'])"

expect_exit 0 mask info projected.db --layer 1
expect_out '* layer   1' 'tiles by rank' 'ring r3'

expect_refused 'no layer pass of layer 7' 'there is layer 0 of denoise step 0' -- explain executed.db --layer 7
expect_refused 'no times of a strategy "dbsp"' 'it has ' -- explain executed.db -s dbsp
expect_refused 'has no mask of layer 7' -- mask info executed.db --layer 7
expect_refused 'cannot open' -- explain nowhere.db
