#!/usr/bin/env bash
# --dump writes inputs, mask and outputs as .npy files of the documented names, shapes and types. From these files alone, check
# finds every output of attention right, and numpy that y of whole layers follows from x, the weights and the mask; one wrong
# number in any of them is noticed. (tests/oracle does both with numpy and random configs.)
. "$(dirname -- "$0")/common.inc"

# expect_array FILE TYPE SHAPE
expect_array() { head -c 128 "$1" | grep -qa "'$2'.*($3,* *)" || fail "$1 is not $2 [$3]"; }

part attention
expect_exit 0 run "${small[@]}" -s ring -s usp:ulysses=1,ring=4 --dump dump
expect_files dump dump/layer-0 dump/layer-0/{q,k,v,mask,block_starts,o-ring,o-usp}.npy dump/layer-0/layer.json
for name in q k v o-ring o-usp; do expect_array dump/layer-0/$name.npy '<f4' '3, *126, *8'; done
expect_array dump/layer-0/mask.npy '|u1' '3, *8, *8'

# The error that the program reports is the one that the files have.
expect_exit 0 run "${small[@]}" --set run.dtype=bf16 --set cluster.ranks=3 -s ulysses -s ring -s usp --dump bf16 --json
mv "$out" run.json
expect_exit 0 check bf16 --json
python3 -B - run.json "$out" <<'PYTHON' || fail "check has other errors than run"
import json, sys
run, check = (json.load(open(path)) for path in sys.argv[1:])
reported = {s["id"]: s["max_error"] for s in run["strategies"]}
found = {o["name"]: o["max_error"] for o in check["attentions"][0]["outputs"]}
assert found.keys() == reported.keys() and all(abs(found[s] / reported[s] - 1) < 1e-9 for s in found), (found, reported)
PYTHON

# Samples of a batch, layers and denoise steps each have their own files, and each is attention; queries that may attend to
# nothing have the output 0.
expect_exit 0 run "${small[@]}" --set model.batch=2 --set run.layers=2 --set run.denoise_steps=2 --set run.dtype=fp32 \
  --set mask.density=0.4 --set cluster.ranks=2 -s ulysses -s ring --dump batch
expect_exit 0 check batch --json
expect_json '[len(a["outputs"]) for a in d["attentions"]] == [2] * 4' 'all(o["rows"] == 2 * 3 * 126 for a in d["attentions"] for o in a["outputs"])'
! cmp -s batch/step-0/layer-0/q.npy batch/step-0/layer-1/q.npy || fail "two layers have the same input"
printf '\x40' | dd of=batch/step-0/layer-0/o-ring.npy bs=1 seek=5003 conv=notrunc status=none
expect_exit 1 check batch
expect_out 'ring     wrong'
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 run --set model.grid=1,8,8 --set model.heads=2 --set model.head_dim=8 --set mask.block=16 \
  --set mask.file=good-empty-row.npy --set run.repeats=1 --set run.dtype=fp32 --set cluster.ranks=2 -s ulysses -s ring --dump empty
expect_exit 0 check empty

# Both attentions of a spatial-temporal model are what their masks say.
expect_exit 0 run "${small[@]}" --set model.preset=st-mini --set model.grid=5,3,4 --set run.dtype=fp32 \
  --set mask.temporal_pattern=window --set mask.density=0.5 --set mask.block=4 --set cluster.ranks=3 -s ulysses -s ring --dump both
for name in q k v mask block_starts o-ulysses o-ring; do [ -e both/layer-0/${name}_temporal.npy ] || fail "$name is not there"; done
expect_exit 0 check both --json
expect_json '[(a["attention"], a["sequences"], a["tokens"], len(a["outputs"])) for a in d["attentions"]] == [("", 5, 12, 2), ("_temporal", 12, 5, 2)]'

part layers
"$python" -c 'import numpy' 2>/dev/null || skip "numpy is missing (package python3-numpy); the rest was tested"
layer_dump_is_right() { "$python" -B "$SOURCE_DIR/tests/oracle/layers.py" "$@" >errors; }
strategies=(-s single -s ulysses -s ring -s usp -s dbsp -s cyclic -s snake -s burst -s allgather_kv -s dsv -s dsp -s megatron_sp -s megatron_tp)
# expect_layers OUTPUTS MODEL ARGUMENT...
expect_layers() {
  expect_exit 0 run "${small[@]}" --set run.scope=layer --set model.preset="$2" --set model.ffn=40 --set mask.density=0.4 \
    --set cluster.ranks=3 --set model.text_tokens=5 "${strategies[@]}" --dump "$2" "${@:3}"
  layer_dump_is_right "$2" || fail "$2: a layer is not what its weights make of x: $(tr '\n' ' ' <errors)"
  [ "$(wc -l <errors)" -eq "$1" ] || fail "$2: $(wc -l <errors) outputs were checked, not $1"
}
# All but dsp; of two layers; all but burst, whose slices need more tokens than a frame is, of two steps.
expect_layers 12 wan-mini --set run.dtype=fp32 --set model.batch=2
expect_layers 12 cogvideox-5b
expect_layers 24 hunyuanvideo --set run.dtype=fp32 --set model.layers=2 --set run.layers=2
expect_layers 24 open-sora-1.2 --set run.denoise_steps=2

expect_array wan-mini/layer-0/y-ring.npy '<f4' '2, *126, *24'
grep -q '"block": "double-stream"' hunyuanvideo/layer-0/layer.json || fail "layer 0 is not a double stream"
grep -q '"block": "single-stream"' hunyuanvideo/layer-1/layer.json || fail "layer 1 is not a single stream"
cd wan-mini/weights || exit
expect_files {wq,wkv,wo,w1,w2,cross_wq,cross_wo,cross_attention,text,cross_attention.k,rms.cross.q,rms_rope.{q,k}}.npy \
  {gate.{self,ffn},modulate.{self,cross,ffn}.{scale,shift}}.npy
cd ../.. || exit
for name in layer-0/y-ring layer-0/x weights/wkv weights/rms_rope.k weights/modulate.cross.shift; do
  cp -r wan-mini spoiled
  printf '\x40' | dd of="spoiled/$name.npy" bs=1 seek=207 conv=notrunc status=none
  ! layer_dump_is_right spoiled || fail "a wrong number in $name was not noticed"
  rm -r spoiled
done
