#!/usr/bin/env bash
# compare of stored runs: what each says of itself, what changed between two, and whether that fails a check.
. "$(dirname -- "$0")/common.inc"

part fail-above
# --fail-above: exit 3 when a strategy became slower by more than the limit or vanished, 0 when not, 2 when times
# cannot be judged. What was set otherwise is printed, and each change is split into its parts.
# One cluster before and after its attention kernel became a fifth slower.
cp "$samples/cluster-a800-2node.toml" before.toml
sed 's/^attend_ns_per_pair_channel = { value = 2.564e-05/attend_ns_per_pair_channel = { value = 3.077e-05/' \
  before.toml >after.toml
! cmp -s before.toml after.toml || fail "the profile was not changed"
for name in before after; do
  expect_exit 0 run --set run.mode=simulate --set cluster.profile=$name.toml --set cluster.ranks=4 -s ring -s ulysses \
    --set model.grid=8,30,40 --set run.layers=1 -o $name.db
done
expect_exit 3 compare before.db after.db --fail-above 1% --json
expect_json 'len(d["comparisons"]) == 2 and any(c["regression"] for c in d["changes"])'
expect_json 'all(c["parts"] and sum(c["parts"].values()) == c["after_ns"] - c["before_ns"] for c in d["changes"])' \
  'any(c["parts"]["compute_ns"] > 0 and "its attention kernels take " in c["why"] for c in d["changes"])' \
  'all(c["label_before"] == c["label_after"] == c["label"] for c in d["changes"])' \
  '{c["key"] for c in d["settings_changed"]} == {"cluster.profile", "cluster cost.attend_ns_per_pair_channel"}' \
  'any(c["before"] == "2.564e-05" and c["after"] == "3.077e-05" for c in d["settings_changed"])'
expect_exit 0 compare before.db after.db --fail-above 30%
expect_out 'cluster cost.atten' '  2.564e-05' '  3.077e-05'
expect_exit 0 compare before.db before.db
expect_out 'Both runs have the same settings, of the cluster too.'
# A strategy that vanished fails, and is named; a new one does not.
expect_exit 0 run --set run.mode=simulate --set cluster.profile=before.toml --set cluster.ranks=4 -s ring \
  --set model.grid=8,30,40 --set run.layers=1 -o ring.db
expect_exit 3 compare before.db ring.db --fail-above 5%
expect_out 'no longer there: ulysses u4' 'not in the later run'
expect_exit 0 compare ring.db before.db --fail-above 5%
expect_out 'not in the earlier run'
expect_exit 0 compare after.db before.db --fail-above 1%
expect_exit 0 run --set run.mode=simulate -s ring --set cluster.ranks=4 -o other.db
# Runs on other layers, and other divisions of the ranks, are unlike.
division=(run --set run.mode=simulate --set cluster.profile=before.toml -s ring --set model.preset=wan-mini --set mask.pattern=dense)
expect_exit 0 "${division[@]}" --set cluster.ranks=4 --set cluster.guidance=2 --set run.layers=1 -o guidance.db
expect_exit 0 "${division[@]}" --set cluster.ranks=4 --set cluster.dp=2 --set run.layers=1 -o dp.db
expect_refused 'SPS-180' 'guidance passes at once 2 and 1' -- compare guidance.db dp.db --fail-above 5%
expect_exit 0 "${division[@]}" --set cluster.ranks=4 --set cluster.dp=2 --set 'run.layers=[1]' -o second.db
expect_refused 'SPS-180' 'they ran other layers: 0 before, 1 after' -- compare dp.db second.db --fail-above 5%
# A check that compared nothing has not passed.
expect_exit 0 run --set run.mode=project --set cluster.profile=before.toml --set cluster.ranks=4 -s ring \
  --set model.grid=8,30,40 --set run.repeats=1 -o projected.db
expect_refused 'SPS-180' 'simulate before, project after' -- \
  compare before.db projected.db --fail-above 1%
# Oversubscribed times are not judged, whatever they are.
expect_exit 0 run "${small[@]}" --set cluster.ranks=$(($(nproc) + 2)) --set run.warmup=0 -s ring -o over.db
expect_refused 'SPS-180' 'oversubscribed' -- compare over.db over.db --fail-above 5%
expect_refused 'SPS-180' -- compare before.db other.db --fail-above 1%
for wrong in lots 5 -1% 5%% nan%; do expect_refused 'not a percentage' -- compare before.db after.db "--fail-above=$wrong"; done
expect_refused '--fail-above' -- compare before.db --fail-above 5%

part stored
# compare of a stored run says what the run itself said, number for number, also after the file has moved.
expect_exit 0 run "${small[@]}" -s ulysses -s ring -s usp:ulysses=1,ring=3 --set cluster.ranks=3 -o kept.db --json
cp "$out" said
mkdir elsewhere
mv kept.db elsewhere/moved.db
expect_exit 0 compare elsewhere/moved.db --json
cmp "$out" said || fail "compare differs: $(diff "$out" said | head -5)"

# Runs of different workloads stand beside each other, and it is said why no change is shown.
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=3 --set mask.density=0.2 -o other.db
expect_exit 0 compare elsewhere/moved.db other.db
expect_out 'No changes are shown, because the files hold different workloads: density' 'Settings that differ' 'mask.density '
# Of runs that have nearly nothing in common the settings are counted and not listed; JSON lists them.
expect_exit 0 run --set run.mode=simulate --set cluster.preset=h100x8 --set mask.pattern=paro -s ring -o unlike.db
expect_exit 0 compare other.db unlike.db
expect_out 'No changes are shown, because the files hold different workloads: '
expect_not_out 'Settings that differ'
differ=$(tr '\n' ' ' <"$out" | sed -n 's/.*, and \([0-9]*\) settings differ.*/\1/p')
expect_exit 0 compare other.db unlike.db --json
expect_json "len(d['settings_changed']) == ${differ:-0} > 12"
