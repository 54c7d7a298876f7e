#!/usr/bin/env bash
# A stored run keeps the recipe of a mask that a pattern made: doctor makes the mask again, of every pattern, and compares
# its hash; a changed recipe is found.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

patterns=$(grep -oP '^PATTERN\(\K[a-z_]+' "$SOURCE_DIR/backend/mask/patterns.def")
[ "$(wc -w <<<"$patterns")" -ge 13 ] || fail "patterns are missing: $patterns"
for pattern in $patterns; do
  expect_exit 0 run "${small[@]}" --set run.mode=simulate --set cluster.ranks=3 --set run.layers=2 \
    --set run.denoise_steps=2 --set "mask.pattern=${pattern//_/-}" --set mask.seed=5 -s ring -o "$pattern.db"
  expect_exit 0 sql "$pattern.db" "SELECT count(*) FROM mask WHERE recipe <> '' AND length(data) = 0" --csv
  masks=$(tail -n 1 "$out" | tr -d '\r')
  [ "$masks" -ge 1 ] || fail "$pattern: no mask is stored as a recipe"
  expect_exit 0 doctor "$pattern.db"
  grep -qE "^  mask recipes +$masks, each gives a mask of the stored hash" "$out" || fail "$pattern: not all $masks masks"
done

python3 -B "$scripts/edit_store.py" sparge.db "UPDATE mask SET recipe = replace(recipe, 'seed = 5', 'seed = 6')"
expect_exit 2 doctor sparge.db
expect_out '! mask recipes' '! mask recipe ' 'the hash is'
expect_err 'SPS-156'
