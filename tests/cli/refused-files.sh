#!/usr/bin/env bash
# Files that are damaged, foreign, too large or do not fit are refused with a number, their name and the fault, and outputs that
# cannot be written before anything runs; nothing is overwritten, and nothing half-written is left.
# labels: hostile
# cost: 8
. "$(dirname -- "$0")/common.inc"

part bad-files
# Truncated, mistyped, oversized and otherwise damaged mask files are refused: exit 2, the file and the fault are named,
# and import writes nothing.
python3 -B "$scripts/bad_arrays.py" .
mkdir target
bad=0
for file in *.npy *.npz *.safetensors; do
  case $file in good*) continue ;; esac
  expect_refused "$file" -- mask info "$file"
  expect_refused "$file" -- mask import "$file" -o target/mask.npy
  bad=$((bad + 1))
done
[ "$bad" -ge 12 ] || fail "only $bad bad files were tried"
[ -z "$(ls target)" ] || fail "a mask was written: $(ls target)"

# Each is told apart by the number of its error, and the fix is named.
expect_refused 'SPS-040' 'missing.npy' -- mask info missing.npy
expect_refused 'SPS-041' '155 bytes' '160' -- mask info truncated.npy
expect_refused 'SPS-042' 'object' 'unpickled' -- mask info object.npy
expect_refused 'SPS-042' 'float32' 'astype' -- mask info nan.npy
expect_refused 'SPS-043' '[32]' '[heads, q, k]' -- mask info one-dimension.npy
expect_refused 'SPS-044' '1099511627776' -- mask info huge-dimension.npy
expect_refused 'SPS-045' 'element 0' '(mask > 0)' -- mask info two.npy
lines short.npy '0 1'
expect_refused 'SPS-046' -- mask info short.npy
expect_refused 'one, other' '--array' -- mask info two-arrays.npz
expect_refused 'third' -- mask info two-arrays.npz --array third
expect_exit 0 mask info two-arrays.npz --array other
mkdir folder.npy
expect_refused 'SPS-040' 'folder.npy' -- mask info folder.npy
expect_refused 'SPS-046' '.safetensors' -- mask info "$samples/README.md"

part mask-file
# A mask file that does not fit the run is refused before anything is written: wrong heads, blocks, layers, steps, or
# damaged.
mkdir files
python3 -B "$scripts/bad_arrays.py" files
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=8 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set mask.file=files/good.npy -s ring
refused() {
  expect_refused "$@"
  [ "$(ls)" = files ] || fail "something was written: $(ls)"
}
refused 'SPS-043' '2 heads' 'has 3' -- run "${fitting[@]}" --set model.heads=3 \
  --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' 'blocks' -- run "${fitting[@]}" --set mask.block=32 --set mask.file=files/good.npy -o kept.db
refused 'SPS-043' '2 layers' '3 are' -- run "${fitting[@]}" --set run.layers=3 \
  --set mask.file=files/good-layers.npy -o kept.db
refused 'SPS-005' 'mask.pattern' -- run "${fitting[@]}" --set mask.file=files/good.npy --set mask.pattern=unused
# What a file makes unused is not taken without a word, unless the file replaces the mask of a config.
refused 'SPS-006' 'mask.density' '--> --set mask.density=0.9' 'mask.file' \
  -- plan "${fitting[@]}" --set mask.file=files/good.npy --set mask.density=0.9
lines files/both.toml '[mask]' 'pattern = "window"' 'file = "good.npy"' 'seed = 3'
refused 'SPS-006' 'both.toml:2' 'mask.pattern' 'both.toml:4' 'mask.seed' -- plan files/both.toml "${fitting[@]}"
lines files/window.toml '[mask]' 'pattern = "window"' 'density = 0.4'
expect_exit 0 plan files/window.toml "${fitting[@]}" --set mask.file=files/good.npy
lines files/file.toml '[mask]' 'file = "good.npy"'
refused 'SPS-006' '--> --set mask.density=0.9' 'add --set mask.file=' \
  -- plan files/file.toml "${fitting[@]}" --set mask.density=0.9
expect_exit 0 plan files/file.toml "${fitting[@]}" --set mask.density=0.9 --set mask.file=
for file in missing.npy truncated.npz object.npy two.npy; do
  refused "$file" -- run "${fitting[@]}" --set mask.file=files/$file -o kept.db --dump dump
  refused "$file" 'mask.file' "--set mask.file=files/$file" -- plan "${fitting[@]}" --set mask.file=files/$file
done

# Activations that are damaged or do not fit the model are refused, all arrays at once.
fitting=(--set "model.grid=1,8,8" --set model.heads=2 --set model.head_dim=4 --set mask.block=16 --set cluster.ranks=2)
expect_exit 0 run "${fitting[@]}" --set model.activations=files/good-qkv.safetensors -s ring --json
expect_json 's["ring"]["verify"] == "passed"'
refused 'SPS-124' 'array "q"' 'array "k"' 'array "v"' '[2, 64, 4]' '[3, 64, 4]' -- run "${fitting[@]}" \
  --set model.heads=3 --set model.activations=files/good-qkv.safetensors -o kept.db
refused '"v"' -- run "${fitting[@]}" --set model.activations=files/no-v.safetensors -o kept.db
refused 'SPS-045' '"k"' -- run "${fitting[@]}" --set model.activations=files/nan-in-k.safetensors -o kept.db --dump dump
refused 'SPS-041' -- run "${fitting[@]}" --set model.activations=files/qkv-truncated.safetensors -o kept.db
refused 'missing.npz' -- run "${fitting[@]}" --set model.activations=missing.npz -o kept.db
refused 'SPS-04' -- run "${fitting[@]}" --set model.activations=files/object.npz -o kept.db

part no-regular-file
# No command opens what is no regular file: a pipe would be waited for, /dev/zero read without end. %s is the name.
mkfifo pipe
mkdir folder empty
for ending in csv db json npy npz safetensors toml; do
  for kind in pipe zero folder; do ln -s "$kind" "$kind.$ending"; done
done
ln -s /dev/zero zero
mkdir outputs
for name in q k v o-mine; do ln -s ../pipe "outputs/$name.npy"; done
cat >asked <<'COMMANDS'
advise --model wan2.1-t2v-14b --cluster h100x8 --mask %s.npy
advise --model wan2.1-t2v-14b --cluster h100x8 --density 0.3 --save %s.toml
advise --model wan2.1-t2v-14b --cluster %s.toml --density 0.3
attach -o %s.db -- true
calibrate --fit %s.csv -o fit.toml
check outputs
compare %s.db
doctor %s.db
explain %s.db
export %s.db --format chrome -o events.json
mask info %s.npy
mask info %s.npz
mask info %s.safetensors
mask import %s.npy -o mask.npy
plan %s.toml
plan --set cluster.profile=%s.toml
recover %s.db -o made.db
report %s.db
report %s.db %s.db -o page.html
run %s.toml
run --set mask.file=%s.npz
run --set model.activations=%s.safetensors
run -s ring -o %s.db --force
sql %s.db SELECT
sweep -s ring --over cluster.ranks=1,2 -o %s.csv
sweep %s.toml --over cluster.ranks=1,2 -o made.csv
watch %s.db --once
COMMANDS
# gui hands its arguments to the window; list takes no file.
missing=$(comm -23 <(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$SOURCE_DIR/backend/cli/commands.def" | sort) \
  <({ cut -d' ' -f1 asked; printf '%s\n' gui list; } | sort -u))
[ -z "$missing" ] || fail "commands that no line asks: $missing"
without_attach() { ! has_asan || sed -i '/^attach/d' asked; } # that build has no library for it, which is looked for first
without_attach
while read -r line; do
  for kind in pipe zero folder; do
    read -ra words <<<"${line//%s/$kind}"
    code=0
    timeout 20 "$SPSCOPE" "${words[@]}" >"$out" 2>"$err" </dev/null || code=$?
    [ "$code" -eq 2 ] || [ "$kind ${words[0]} $code" = 'folder doctor 0' ] || fail "exit code $code: ${words[*]}"
    ! grep -qE 'Sanitizer|runtime error:|SPS-200' "$err" || fail "a fault in: ${words[*]}"
  done
done <asked

part other-traces
lines kineto.json '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}'
python3 -c 'import sqlite3; sqlite3.connect("nsys.sqlite").execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")'
expect_refused 'kineto.json" is a trace of torch.profiler, which spscope cannot read' 'spscope attach' -- report kineto.json
expect_refused 'a trace of torch.profiler' 'spscope attach' -- import kineto.json
expect_refused 'an export of Nsight Systems' 'spscope attach' -- sql nsys.sqlite 'SELECT 1'
expect_exit 0 run -s ring "${small[@]}" -o own.db
expect_refused 'did you mean "report"?' -- reprot own.db
expect_not_err 'Nsight'

part output-unwritable
# An output that cannot be written fails before anything runs, with the reason, and nothing half-written is left.
lines file 'not a folder'
for path in missing/run.db file/run.db /proc/run.db; do
  expect_refused 'SPS-158' -- run -s ring "${small[@]}" -o "$path"
  expect_not_err 'SPS-200'
  [ ! -s "$out" ] || fail "a result was printed"
done
expect_files file
expect_no_scratch

# A dump folder that cannot be made ends the run with exit code 2, and no output is kept.
for folder in file /proc/dump; do
  expect_refused 'SPS-158' '--dump' -- run "${small[@]}" -s ring --dump "$folder" -o kept.db
done
expect_files file

# Of every command that writes: no folder is there, or none can be made, which no line of progress and no result comes before.
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_exit 0 mask generate dense --grid 1,8,8 -o good.npy
before=$(find . | sort)
cat >asked <<'COMMANDS'
advise --model wan-mini --cluster h100x8 --ranks 2 --save missing/advice.toml
attach -o missing/attached.db -- true
calibrate -o missing/profile.toml
calibrate --fit missing.csv -o missing/profile.toml
export kept.db --format chrome -o missing/events.json
export kept.db --format plain-sqlite -o missing/plain.db
export kept.db --format store -o missing/store.db
mask generate dense --grid 1,8,8 -o file/mask.npy
mask import good.npy -o file/mask.npy
recover kept.db -o missing/recovered.db
report kept.db -o missing/page.html
report kept.db --format csv -o file/tables
report kept.db --figures file/figures
run --set run.mode=simulate -s ring --dump file/dump
run --set run.mode=simulate -s ring -o missing/run.db
sweep --set run.mode=simulate -s ring --over cluster.ranks=1,2 -o missing/table.csv
sweep --set run.mode=simulate -s ring --over cluster.ranks=1,2 -o table.csv --figures file/figures
COMMANDS
without_attach
while read -r line; do
  read -ra words <<<"$line"
  expect_refused 'SPS-158' -- "${words[@]}"
  if [ "$(head -c 13 "$err")" != 'error SPS-158' ] || [ -s "$out" ]; then fail "something came first: $line"; fi
done <asked
rm asked
[ "$(find . | sort)" = "$before" ] || fail "something was written"
rm kept.db good*.npy

part output-foreign
# A file of another program is never overwritten, also not with --force, whatever it looks like.
lines notes.txt 'my notes'
printf 'SQLite format 3\0 and then something else' >broken.db
python3 -B -c 'import sqlite3; c = sqlite3.connect("other.db"); c.execute("CREATE TABLE t (x)"); c.commit()'
mkdir folder
for file in notes.txt broken.db other.db; do
  cp "$file" copy
  for force in '' --force; do
    expect_refused 'SPS-15' "$file" -- run -s ring "${small[@]}" -o "$file" ${force:+"$force"}
    cmp "$file" copy || fail "$file was changed"
  done
done
expect_exit 2 run -s ring "${small[@]}" -o folder --force
expect_err 'folder'
rm copy
expect_files notes.txt broken.db other.db folder

# A database under the name of another format.
for name in report.html result.json tables.csv; do
  expect_refused 'SPS-158' "$name" 'FILE.db' -- run -s ring "${small[@]}" -o "$name"
  [ ! -e "$name" ] || fail "$name was made"
done

# An empty file holds nothing of anybody: it is in the way until --force says that it may go.
: >empty.db
expect_refused 'SPS-153' '"empty.db" exists, and is empty' '--force' -- run -s ring "${small[@]}" -o empty.db
[ ! -s empty.db ] || fail "the empty file was replaced without --force"
expect_exit 0 run -s ring "${small[@]}" -o empty.db --force
expect_exit 0 doctor empty.db

part output
# A report replaces an earlier one only with --force, and never a stored run; an output that cannot be written leaves
# nothing.
expect_exit 0 run "${small[@]}" -s ring -o kept.db
cp kept.db copy.db
lines page.html 'mine'
expect_refused 'SPS-153' '--force' -- report kept.db -o page.html
[ "$(cat page.html)" = mine ] || fail "the page was replaced"
expect_exit 0 report kept.db -o page.html --force
expect_err 'wrote page.html'
grep -q '<html' page.html || fail "the page was not replaced"
expect_exit 2 report kept.db -o copy.db --format html --force
cmp kept.db copy.db || fail "a stored run was replaced"
for path in missing/page.html page.html/page.html /proc/page.html; do
  expect_refused 'SPS-15' -- report kept.db -o "$path"
done
expect_refused '--format' -- report kept.db -o page.txt
expect_exit 2 report kept.db --json -o page.html --force
expect_err '--json' 'page.html'
expect_exit 2 report kept.db --json --format html
expect_err '--format html'
expect_files kept.db copy.db page.html

part scratch
# run.scratch is where a run lies while it runs; it is empty afterwards, and a folder that will not do is named.
mkdir mine
expect_exit 0 run -s ring "${small[@]}" --set run.scratch=mine -o kept.db
expect_files kept.db mine
expect_no_scratch
: >file
for place in missing file; do
  for output in '' --output=other.db; do
    expect_refused 'SPS-158' "$place" 'run.scratch (attach: --scratch)' -- run -s ring "${small[@]}" --set run.scratch=$place ${output:+"$output"}
  done
done
expect_files file kept.db mine
