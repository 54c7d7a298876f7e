#!/usr/bin/env bash
# One flipped bit in any packed bytes of a stored run: doctor names the row, who uses the bytes notices,
# and recover makes a file that is whole again.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good.npy --set cluster.ranks=2 --set run.repeats=40 --set run.verify=off -s ring -o kept.db
expect_exit 0 doctor kept.db
expect_out '1 plan, 1 mask, 2 mask_thumbnail'
expect_exit 0 sql kept.db 'SELECT (SELECT count(*) FROM lod_level) > 0 AND (SELECT count(*) FROM lod_strip) > 0' --csv
[ "$(tail -n 1 "$out" | tr -d '\r')" = 1 ] || fail "the run has no pyramid to damage"

# damaged TABLE ROW COLUMN WHERE: what every table has in common. ROW is what doctor calls the damaged row.
damaged() {
  cp kept.db damaged.db
  python3 -B "$scripts/edit_store.py" damaged.db "UPDATE $1 SET $3 = flip($3, 0.7) WHERE $4"
  expect_exit 2 doctor damaged.db
  expect_err 'SPS-156' 'damaged.db' 'spscope recover'
  expect_out "! $2 "
  rm -f saved.db
  expect_exit 0 recover damaged.db -o saved.db
  expect_exit 0 doctor saved.db
}
not_copied() {
  expect_refused 'SPS-156' 'damaged.db' "$1" -- export damaged.db --format plain-sqlite -o tables.db
}
not_compared() {
  expect_refused 'SPS-156' -- compare damaged.db
  expect_refused 'SPS-156' -- report damaged.db
  expect_refused 'SPS-156' -- export damaged.db --format chrome -o trace.json
}

# Pictures and pyramids are for eyes only: no figure and no export of events rests on them.
first='pyramid_id = 1 AND first_bucket = 0'
damaged plan 'plan plan_id 1' data 'plan_id = 1'
not_copied plan
not_compared
damaged mask 'mask mask_id 1' data 'mask_id = 1'
not_copied mask
damaged lod_level 'lod_level pyramid_id 1 shift' data "$first"
damaged lod_strip 'lod_strip pyramid_id 1 shift' data "$first"
damaged chunk 'chunk 1' data 'chunk_id = 1'
not_compared

# A large plan is in parts.
expect_exit 0 run --set run.mode=simulate --set cluster.ranks=64 --set model.grid=8,16,16 --set model.heads=2 \
  --set model.head_dim=8 -s ring -o large.db
cp large.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db 'UPDATE plan_part SET data = flip(data, 0.5)'
expect_exit 2 doctor damaged.db
expect_out '! plan plan_id 1 '
cp large.db damaged.db
python3 -B "$scripts/edit_store.py" damaged.db 'UPDATE mask_thumbnail SET cells = zeroblob(17) WHERE head = 1'
expect_exit 2 doctor damaged.db
expect_out '! mask_thumbnail mask_id 1 head 1 '
not_copied mask_thumbnail
expect_exit 0 recover damaged.db -o undrawn.db
expect_err 'mask_thumbnail 1 is left out'
expect_exit 0 doctor undrawn.db
python3 -B "$scripts/edit_store.py" large.db 'DELETE FROM mask_thumbnail WHERE head = 1'
expect_exit 2 doctor large.db
expect_out '1 of 2 pictures'
