#!/usr/bin/env bash
# A file that unfolds to more than --max-memory is refused: exit 2, the file, what it needs and the limit are named, and a
# limit to try. With room it is read. Nothing is left of an output that could not be written for it, and recover, which
# tolerates damage, does not take want of memory for damage. So are runs that a machine cannot hold.
. "$(dirname -- "$0")/common.inc"

part files
python3 -B "$scripts/large_arrays.py"
for file in mask.npy mask.npz mask.safetensors; do
  expect_refused 'SPS-044' "$file" '4 MiB' '3 MiB' 'max-memory' -- mask info "$file" --max-memory 3MiB
  expect_exit 0 mask info "$file" --max-memory 64MiB
done

# What run and plan read by a config: masks and activations.
printf '[mask]\nfile = "mask.npz"\n' >mask.toml
for command in run plan; do # by a config
  expect_refused 'SPS-044' 'mask.npz' '4 MiB' '3 MiB' -- "$command" mask.toml --max-memory 3MiB
done
printf '[model]\nactivations = "big.npz"\n' >activations.toml
expect_refused 'SPS-044' 'big.npz' '2 MiB' '1 MiB' -- run activations.toml --max-memory 1MiB "${small[@]}"

# Databases: what SQLite itself may take, and what this program makes of a file. Neither may end in another way.
expect_exit 0 run -s ring "${small[@]}" -o run.db
python3 -B "$scripts/large_arrays.py" run.db
files() { find . -mindepth 1 | sort; }
files >../before
for command in sql compare report export recover; do
  case $command in
    sql) arguments=(sql run.db "SELECT value FROM machine_fact ORDER BY length(value) DESC" --csv) ;;
    compare) arguments=(compare run.db) ;;
    export) arguments=(export run.db --format plain-sqlite -o made) ;;
    *) arguments=("$command" run.db -o made) ;;
  esac
  if [ "$command" = report ]; then arguments+=(--format html); fi
  expect_exit 2 "${arguments[@]}" --max-memory 2MiB
  expect_err 'SPS-150' '"run.db"' '7.629 MiB' '2 MiB' \
    'if you trust the file, --max-memory 16MiB or more'
  files | diff ../before - || fail "something was left by: ${arguments[*]}"
  expect_exit 0 "${arguments[@]}" --max-memory 256MiB
  rm -rf made
done

# doctor makes masks again from their recipes; one that needs 92 MB is not a wrong one.
expect_exit 0 run -s ring "${small[@]}" --set run.mode=simulate --set mask.pattern=dense -o recipe.db
edit recipe.db "UPDATE mask SET tokens = 1000000, recipe =
  replace(replace(recipe, 'grid = [3, 6, 7]', 'grid = [100, 100, 100]'), 'block = 16', 'block = 64')"
expect_refused 'SPS-150' '"recipe.db"' '64 MiB' -- doctor recipe.db --max-memory 64MiB
expect_exit 2 doctor recipe.db
expect_err 'SPS-156'
expect_out 'not of their stored hash' 'the hash is'

for value in 0 12 -5 lots 5XB; do
  expect_exit 2 compare run.db --max-memory "$value"
  expect_err 'max-memory'
done

part too-large
# What a machine cannot hold is refused before anything is made: ranks, their memory, and the events of a run.
expect_nothing() { expect_no_files && expect_no_scratch; }

# 4,000 threads with a ring of events each.
limited=(bash -c 'ulimit -d 3000000 && exec timeout 60 "$@"' - "$SPSCOPE")
expect_code 2 "${limited[@]}" run -s ring "${small[@]}" --set cluster.ranks=4000 -o kept.db
expect_err 'SPS-127' '4000 ranks need at least 5242880000 bytes of memory' '3072000000' 'ulimit -d' 'run.mode'
expect_nothing
# A plan of 4,096 x 4,096 messages is not begun.
expect_code 2 "${limited[@]}" run -s ring --set run.mode=simulate --set cluster.preset=ndr-h100-xN --set cluster.ranks=4096 -o kept.db
tr '\n' ' ' <"$out" >"$err"
expect_err 'the plan of ring for 4096 ranks takes at least 9.377 GiB of memory, and this machine has' 'ulimit -d'
rm -f kept.db

# More than a petabyte of events. Without -o they go to the scratch folder all the same.
for keep in '' '-o kept.db'; do
  # shellcheck disable=SC2086 # a flag and its value, or nothing
  expect_refused "$TMPDIR/spscope-" ' events needs at least ' ' bytes in ' ' are free' -- run -s ring "${small[@]}" --progress none \
    --set run.mode=execute --set run.repeats=100000 --set run.denoise_steps=10000 --set model.layers=10000 --set run.layers=10000 --set run.verify=off $keep
  expect_nothing
done
expect_err 'SPS-158' "$PWD/kept.db"
