#!/usr/bin/env bash
# What is damaged in a stored run, down to one bit, is named by doctor, noticed by all who use it, and its events are not
# exported; recover makes a file that is whole again.
# labels: hostile extended
. "$(dirname -- "$0")/common.inc"

part rows
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good.npy --set cluster.ranks=2 --set run.repeats=40 --set run.verify=off -s ring -o kept.db
expect_exit 0 doctor kept.db
[ "$(head -1 "$out")" = 'No damage found.' ] || fail "the verdict is not the first line"
expect_out '1, each of its stored hash' '1 with 1 plans and 40 timelines, all readable'
edited kept.db "UPDATE machine_fact SET value = 'another'"
expect_exit 0 doctor damaged.db
[ "$(head -1 "$out")" = 'No damage found in what was checked. Its pages were not: another program changed the file after it was written.' ] ||
  fail "the verdict does not say what was not checked"
cp kept.db damaged.db
printf '\377\377\377\377' | dd of=damaged.db bs=1 seek=$(($(stat -c %s damaged.db) - 12)) conv=notrunc status=none
expect_exit 2 doctor damaged.db
expect_out 'Damaged: the file has damaged checksums of its pages'

# damaged TABLE FINDING COLUMN WHERE: what every table has in common.
damaged() {
  edited kept.db "UPDATE $1 SET $3 = flip($3, 0.7) WHERE $4"
  expect_exit 2 doctor damaged.db
  expect_err 'SPS-156' 'damaged.db' 'spscope recover'
  expect_out "! $2 " 'Damaged: the file has '
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}
not_used() {
  for command in compare report 'export --format chrome -o trace.json'; do
    # shellcheck disable=SC2086  # words of a command line
    expect_refused 'SPS-156' -- $command damaged.db
  done
}
damaged plan 'ring, layer 0, step 0' data 'plan_id = 1'
not_used
damaged mask mask data 'mask_id = 1'
damaged chunk 'chunk 1' data 'chunk_id = 1'
not_used
edited kept.db 'DELETE FROM run'
expect_refused 'nothing to explain' -- explain damaged.db
head -c $(($(stat -c %s kept.db) / 2)) kept.db >cut.db
expect_refused 'SPS-15' -- explain cut.db

# A large plan is in parts.
expect_exit 0 run --set run.mode=simulate --set cluster.ranks=64 --set model.grid=8,16,16 --set model.heads=2 \
  --set model.head_dim=8 -s ring -o large.db
edited large.db 'UPDATE plan_part SET data = flip(data, 0.5)'
expect_exit 2 doctor damaged.db
expect_out '! ring, layer 0, step 0 '

part chunks
expect_exit 0 run "${small[@]}" -s ring -o kept.db
edited kept.db "UPDATE chunk SET crc32c = crc32c + 1 WHERE chunk_id = (SELECT max(chunk_id) FROM chunk)"
for format in plain-sqlite store chrome; do
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
  '! chunk 6 ' "and $((chunks - 6)) more chunks"
expect_not_out '! chunk 2 '

part recipes
# A stored run keeps the recipe of a mask that a pattern made: doctor makes the mask again and compares its hash.
patterns=$(grep -oP '^PATTERN\(\K[a-z_]+' "$SOURCE_DIR/backend/mask/patterns.def")
[ "$(wc -w <<<"$patterns")" -ge 13 ] || fail "patterns are missing: $patterns"
if has_asan; then patterns='dense sparge'; fi
for pattern in $patterns; do
  expect_exit 0 run "${small[@]}" --set run.mode=simulate --set cluster.ranks=3 --set run.layers=2 \
    --set run.denoise_steps=2 --set "mask.pattern=${pattern//_/-}" --set mask.seed=5 -s ring -o "$pattern.db"
  masks=$(sql_rows "$pattern.db" "SELECT count(*) FROM mask WHERE recipe <> '' AND length(data) = 0")
  [ "$masks" -ge 1 ] || fail "$pattern: no mask is stored as a recipe"
  expect_exit 0 doctor "$pattern.db"
  grep -qE "^  masks +$masks, each of its stored hash" "$out" || fail "$pattern: not all $masks masks"
done
edit sparge.db "UPDATE mask SET recipe = replace(recipe, 'seed = 5', 'seed = 6')"
expect_exit 2 doctor sparge.db
expect_out '! masks' '! mask ' 'the hash is'
expect_err 'SPS-156'
