#!/usr/bin/env bash
# What is damaged in a stored run, down to one bit, is named by doctor, noticed by all who use it, and not exported; recover
# makes a file that is whole again. So it is with figures that a file holds twice and that another program changed.
# labels: hostile extended
. "$(dirname -- "$0")/common.inc"

part rows
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good.npy --set cluster.ranks=2 --set run.repeats=40 --set run.verify=off -s ring -o kept.db
expect_exit 0 doctor kept.db
[ "$(head -1 "$out")" = 'No damage found.' ] || fail "the verdict is not the first line"
expect_out '1 plan, 1 mask, 2 mask_thumbnail' '1 with 1 plans and 40 timelines, all readable'
edited kept.db "UPDATE machine_fact SET value = 'another'"
expect_exit 0 doctor damaged.db
[ "$(head -1 "$out")" = 'No damage found in what was checked. Its pages were not: another program changed the file after it was written.' ] ||
  fail "the verdict does not say what was not checked"
cp kept.db damaged.db
printf '\377\377\377\377' | dd of=damaged.db bs=1 seek=$(($(stat -c %s damaged.db) - 12)) conv=notrunc status=none
expect_exit 2 doctor damaged.db
expect_out 'Damaged: the file has damaged checksums of its pages'
expect_sql kept.db 1 'SELECT (SELECT count(*) FROM lod_level) > 0 AND (SELECT count(*) FROM lod_strip) > 0'

# damaged TABLE ROW COLUMN WHERE: what every table has in common. ROW is what doctor calls the damaged row.
damaged() {
  edited kept.db "UPDATE $1 SET $3 = flip($3, 0.7) WHERE $4"
  expect_exit 2 doctor damaged.db
  expect_err 'SPS-156' 'damaged.db' 'spscope recover'
  expect_out "! $2 " 'Damaged: the file has '
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}
not_copied() { expect_refused 'SPS-156' 'damaged.db' "$1" -- export damaged.db --format plain-sqlite -o tables.db; }
not_used() {
  for command in compare report 'export --format chrome -o trace.json'; do
    # shellcheck disable=SC2086  # words of a command line
    expect_refused 'SPS-156' -- $command damaged.db
  done
}
# Pictures and pyramids are for eyes only: no figure and no export of events rests on them.
first='pyramid_id = 1 AND first_bucket = 0'
damaged plan 'plan plan_id 1' data 'plan_id = 1'
not_copied plan
not_used
damaged mask 'mask mask_id 1' data 'mask_id = 1'
not_copied mask
damaged lod_level 'lod_level pyramid_id 1 shift' data "$first"
damaged lod_strip 'lod_strip pyramid_id 1 shift' data "$first"
damaged chunk 'chunk 1' data 'chunk_id = 1'
not_used

# A large plan is in parts.
expect_exit 0 run --set run.mode=simulate --set cluster.ranks=64 --set model.grid=8,16,16 --set model.heads=2 \
  --set model.head_dim=8 -s ring -o large.db
edited large.db 'UPDATE plan_part SET data = flip(data, 0.5)'
expect_exit 2 doctor damaged.db
expect_out '! plan plan_id 1 '
edited large.db 'UPDATE mask_thumbnail SET cells = zeroblob(17) WHERE head = 1'
expect_exit 2 doctor damaged.db
expect_out '! mask_thumbnail mask_id 1 head 1 '
not_copied mask_thumbnail
expect_exit 0 recover damaged.db -o undrawn.db
expect_err 'mask_thumbnail 1 is left out'
expect_exit 0 doctor undrawn.db
edited large.db 'DELETE FROM mask_thumbnail WHERE head = 1'
expect_exit 2 doctor damaged.db
expect_out '1 of 2 pictures'

part chunks
expect_exit 0 run "${small[@]}" -s ring -o kept.db
edited kept.db "UPDATE chunk SET crc32c = crc32c + 1 WHERE chunk_id = (SELECT max(chunk_id) FROM chunk)"
for format in plain-sqlite csv store chrome; do
  expect_refused 'SPS-156' 'damaged.db' -- export damaged.db --format "$format" -o out
done
expect_files kept.db damaged.db
# All are counted, and the first ones named with what is wrong with them.
expect_exit 0 run "${small[@]}" -s ring -s ulysses --set cluster.ranks=4 --set run.repeats=3 -o many.db
chunks=$(sql_rows many.db 'SELECT count(*) FROM chunk')
[ "$chunks" -ge 8 ] || fail "only $chunks chunks to damage"
edit many.db 'UPDATE chunk SET data = zeroblob(length(data)) WHERE chunk_id > 2' \
  'PRAGMA ignore_check_constraints = ON' 'UPDATE chunk SET count = 4097 WHERE chunk_id = 1'
expect_exit 2 doctor many.db
expect_err 'SPS-156' "$((chunks - 1)) chunks" 'spscope recover'
expect_out "$((chunks - 1)) of $chunks chunks cannot be read" '! chunk 1 ' 'count = 4097' '! chunk 3 ' 'checksum is wrong' \
  '! chunk 6 ' "and $((chunks - 6)) more chunks" 'that need what is damaged'
expect_not_out '! chunk 2 '

part recipes
# A stored run keeps the recipe of a mask that a pattern made: doctor makes the mask again and compares its hash.
patterns=$(grep -oP '^PATTERN\(\K[a-z_]+' "$SOURCE_DIR/backend/mask/patterns.def")
[ "$(wc -w <<<"$patterns")" -ge 13 ] || fail "patterns are missing: $patterns"
for pattern in $patterns; do
  expect_exit 0 run "${small[@]}" --set run.mode=simulate --set cluster.ranks=3 --set run.layers=2 \
    --set run.denoise_steps=2 --set "mask.pattern=${pattern//_/-}" --set mask.seed=5 -s ring -o "$pattern.db"
  masks=$(sql_rows "$pattern.db" "SELECT count(*) FROM mask WHERE recipe <> '' AND length(data) = 0")
  [ "$masks" -ge 1 ] || fail "$pattern: no mask is stored as a recipe"
  expect_exit 0 doctor "$pattern.db"
  grep -qE "^  mask recipes +$masks, each gives a mask of the stored hash" "$out" || fail "$pattern: not all $masks masks"
done
edit sparge.db "UPDATE mask SET recipe = replace(recipe, 'seed = 5', 'seed = 6')"
expect_exit 2 doctor sparge.db
expect_out '! mask recipes' '! mask recipe ' 'the hash is'
expect_err 'SPS-156'

part figures
expect_exit 0 run "${small[@]}" --set cluster.ranks=2 --set run.layers=2 -s ring -s ulysses -o threads.db
expect_exit 0 run "${small[@]}" --set cluster.preset=p4de-x2 --set cluster.ranks=4 --set cluster.gpus_per_node=2 \
  --set run.layers=2 --set run.mode=simulate -s ring -s usp -o simulated.db
expect_exit 0 doctor threads.db
expect_out 'each as it was written'

# differs FILE STATEMENT TEXT: all commands that load figures; recover makes a file without those of the layer pass.
differs() {
  edited "$1" "$2"
  expect_exit 2 doctor damaged.db
  expect_out '! pages' 'changed the file' "$3"
  expect_err 'SPS-156' 'differ'
  expect_refused 'SPS-156' 'ring, layer 0, denoise step 0' "$3" -- compare damaged.db
  expect_refused 'SPS-156' "$3" -- report damaged.db
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_err 'counts as not finished' "$3"
  expect_exit 0 doctor saved.db
  expect_exit 0 compare saved.db
}
pass="run_id = (SELECT run_id FROM run JOIN strategy USING (strategy_id) WHERE id = 'ring' AND layer = 0)"
differs threads.db "UPDATE rank_usage SET bytes_sent_intra_node = bytes_sent_intra_node + 1 WHERE rank = 1 AND $pass" 'rank 1 sent '
differs threads.db "UPDATE rank_usage SET bytes_received = bytes_received + 64 WHERE rank = 0 AND $pass" 'rank 0 received '
differs threads.db "UPDATE rank_usage SET messages = messages + 1 WHERE rank = 0 AND $pass" ' messages by rank_usage and '
differs threads.db "DELETE FROM traffic WHERE $pass" ' bytes by rank_usage and 0 by traffic'
differs threads.db "UPDATE run SET tiles = tiles * 2 WHERE $pass" ' tiles were computed by run and '
differs simulated.db "UPDATE rank_usage SET bytes_sent_intra_node = bytes_sent_intra_node + 1,
  bytes_sent_inter_node = bytes_sent_inter_node - 1 WHERE rank = 1 AND $pass" 'inside its node'

# doctor also compares with plans, chunks, and the times of repeats that a model made.
finds() {
  edited "$1" "$2"
  expect_exit 2 doctor damaged.db
  expect_out "$3"
}
finds threads.db "UPDATE rank_usage SET flops = flops + 1 WHERE rank = 0 AND $pass" ' FLOPs by rank_usage and '
finds threads.db "UPDATE traffic SET dst = 9 WHERE src = 0 AND tensor = 'k' AND $pass" 'traffic has rank 9'
finds threads.db "DELETE FROM rank_usage WHERE rank = 1 AND $pass" 'rank_usage has 1 ranks and its plan 2'
finds threads.db 'UPDATE ledger SET sent = sent + 1, stored = stored + 1 WHERE track_id = 1' ' events are stored by ledger and '
finds simulated.db "UPDATE repeat SET makespan_ns = makespan_ns + 1 WHERE $pass" 'ns by begin_ns, end_ns and lead_ns and '
