#!/usr/bin/env bash
# Outside the program, from the dumped files alone: y of whole layers of every block and strategy follows from x, the
# weights and the mask, and one wrong number in any of them is noticed.
. "$(dirname -- "$0")/common.inc"

"$python" -c 'import numpy' 2>/dev/null || skip "numpy is missing (package python3-numpy)"
layer_dump_is_right() { "$python" -B "$SOURCE_DIR/tests/oracle/layers.py" "$@" >errors; }

strategies=(-s single -s ulysses -s ring -s usp -s dbsp -s cyclic -s snake -s allgather_kv -s dsp -s megatron_sp -s megatron_tp)
run_layers() {
  expect_exit 0 run "${small[@]}" --set run.scope=layer --set model.preset="$1" --set model.ffn=40 --set mask.density=0.4 \
    --set cluster.ranks=3 "${strategies[@]}" --dump "$1-$2" "${@:3}" --set run.dtype="$2"
}
for dtype in fp32 bf16; do
  run_layers wan-mini "$dtype" --set model.text_tokens=5 --set model.batch=2
  run_layers cogvideox-5b "$dtype" --set model.text_tokens=5
  run_layers hunyuanvideo "$dtype" --set model.text_tokens=5 --set model.layers=2 --set run.layers=2
  run_layers open-sora-1.2 "$dtype" --set model.text_tokens=5 --set run.denoise_steps=2
done
for dump in {wan-mini,cogvideox-5b,hunyuanvideo,open-sora-1.2}-{fp32,bf16}; do
  layer_dump_is_right "$dump" || fail "$dump: a layer is not what its weights make of x: $(tr '\n' ' ' <errors)"
  wc -l <errors >>counts
done
# All but dsp; of two layers; all, of two steps.
[ "$(tr -d ' ' <counts | tr '\n' ' ')" = "10 10 10 10 20 20 22 22 " ] || fail "outputs were not checked: $(tr '\n' ' ' <counts)"

head -c 128 wan-mini-fp32/layer-0/y-ring.npy | grep -qa "'<f4'.*(2, *126, *24,* *)" || fail "y is not float32 [2, 126, 24]"
grep -q '"block": "double-stream"' hunyuanvideo-fp32/layer-0/layer.json || fail "layer 0 is not a double stream"
grep -q '"block": "single-stream"' hunyuanvideo-fp32/layer-1/layer.json || fail "layer 1 is not a single stream"
expected=$(printf '%s.npy\n' wq wkv wo w1 w2 cross_wq cross_wo cross_attention text cross_attention.k rms.cross.q rms_rope.{q,k} \
  gate.{self,ffn} modulate.{self,cross,ffn}.{scale,shift} | sort)
found=$(find wan-mini-fp32/weights -mindepth 1 -printf '%P\n' | sort)
[ "$found" = "$expected" ] || fail "weights are ${found//$'\n'/ }"

for name in layer-0/y-ring layer-0/x weights/wkv weights/gate.ffn weights/rms_rope.k weights/modulate.cross.shift; do
  cp -r wan-mini-fp32 spoiled
  printf '\x40' | dd of="spoiled/$name.npy" bs=1 seek=207 conv=notrunc status=none
  ! layer_dump_is_right spoiled || fail "a wrong number in $name was not noticed"
  rm -r spoiled
done
