#!/usr/bin/env bash
# The answer in one command: the strategy by name, how sure, and commands that work as they are printed.
# cost: 20
. "$(dirname -- "$0")/common.inc"

says() {  # each of these patterns, wherever lines break
  for pattern; do [[ $(tr '\n' ' ' <"$out") == *$pattern* ]] || fail "it does not say: $pattern"; done
}
tiny=(--model wan-mini --cluster h100x8 --ranks 4 --density 0.3 --set model.heads=8 --set model.head_dim=24
  --set cluster.guidance=1 --set cluster.dp=1)
expect_exit 0 advise "${tiny[@]}" --all
expect_out 'Use ' 'vs ulysses' 'over seeds' 'The rate of sparge on h100 is taken from FlashAttention-2' 'end to end with torch.compile and sparge' 'Not possible here: dsp (' '4 x h100' \
  'whole layers' 'wire' ' a layer slower: ' 'Memory: '
cp -- "$out" whole
expect_exit 0 advise "${tiny[@]}"
cp -- "$out" answer
says 'x to [0-9.]*x over 3 seeds'
[ "$(wc -l <answer)" -lt "$(wc -l <whole)" ] || fail "--all says no more"

# The commands at its end, word for word.
mapfile -t commands < <(sed -n 's/^  \(spscope .*\)/\1/p' answer)
[ "${#commands[@]}" -eq 3 ] || fail "there are ${#commands[@]} next commands"
for command in "${commands[@]}"; do
  [[ $command != *run.mode* ]] || fail "a next command has settings that nobody typed: $command"
  eval "expect_exit 0 ${command#spscope }"
done
expect_out 'With link=0.5, ' 'layer as it is'
[ -f advice.db ] || fail "no command keeps a file"
best=$(sed -n 's/^Use \([^:,]*\)[:,].*/\1/p' answer)
grep -q "^Memory: ${best}[ ,]" answer || fail "the memory of $best does not come first"
expect_exit 0 compare advice.db
expect_out "$best"
[ "$(sed -n 's/^strategies = //p' advice.toml | tr -cd ',' | wc -c)" -ge 2 ] || fail "the saved run is not what was compared"
# It holds what differs from defaults, the kernel among it, and gives the times of the answer.
big_heads=(--set model.heads=4 --set model.head_dim=64)  # that SpargeAttn takes
expect_exit 0 advise "${tiny[@]}" "${big_heads[@]}" --seeds 1 --engine sglang --save one.toml --json
expect_json 'any("--attention-backend sparge_attn --attention-backend-config topk=0.3" in x for x in d["sentences"])' \
  'd["attention_kernel"] == "sparge"' 'any("all dense" in x for x in d["sentences"])'
cp -- "$out" answer.json
[ "$(wc -l <one.toml)" -lt 40 ] || fail "the saved run is long"
! grep -q '^[a-z_]* = 0$' one.toml || fail "the saved run holds defaults"
grep -q '^attention_kernel = "sparge"' one.toml || fail "the saved run does not name its kernel"
expect_exit 0 run one.toml --json
python3 -B - answer.json "$out" <<'PYTHON' || fail "the saved run is not that of the answer"
import json, sys
answer, run = ({s["label"]: s["makespan_ns"] for s in json.load(open(path)).get("comparison", json.load(open(path)))["strategies"]} for path in sys.argv[1:])
assert run and all(answer[label] == ns for label, ns in run.items()), (answer, run)
PYTHON
expect_exit 0 run one.toml
head -2 "$out" | LC_ALL=C.UTF-8 grep -E '^.{101}' && fail "the heading of the saved run has more than 100 columns"
echo 'not ours' >advice.toml
expect_refused '--save advice.toml: the file exists' -- advise "${tiny[@]}" --save advice.toml

# Flags say which kernel and code times are of; the first line names them, and what the other usual ones take.
expect_exit 0 advise "${tiny[@]}" --seeds 1 --kernel flex --implementation official --json
expect_json 'd["attention_kernel"] == "flex" and d["implementation"] == "official"' \
  '"with the model'"'"'s own uncompiled code and flex, " in d["sentences"][0]' 'd["other_code"]["text"] == "torch.compile and sparge"' \
  'd["other_code"]["end_to_end_ns"] < min(x["end_to_end_ns"] for x in d["comparison"]["strategies"] if x["legal"])'

# Without masks it is dense attention, and plans that have nothing to balance are one row; --density 1 is no pattern.
dense=(--model wan-mini --cluster h100x8 --ranks 4 --set model.heads=8 --set model.head_dim=24 --set cluster.guidance=1
  --set cluster.dp=1)
expect_exit 0 advise "${dense[@]}"
expect_out 'Sparse masks (--density 0.4) are no gain: the same plan takes ' ', 10 denoise steps, all times' ' tokens, dense, ' 'ulysses u4 = snake' \
  'dense masks leave nothing to balance'
expect_not_out 'over seeds' 'prediction'
expect_exit 0 advise "${dense[@]}" --density 1
expect_out ' tokens, dense, '
expect_not_out 'sparge' 'over seeds' 'Sparse masks ('

# Over PCIe with more than two GPUs the first sentence says that hosts differ, and what measures yours; the error of its
# time is in the short answer too.
expect_exit 0 advise "${dense[@]/h100x8/4090x8}" --json
expect_json 'd["sentences"][0].startswith("Hosts with PCIe differ. ")' '"alltoall_perf -g 4 -b 64M -e 64M and sendrecv_perf -g 4 -b 64M -e 64M" in d["sentences"][0]'

expect_exit 0 advise "${dense[@]}" -s ulysses -s usp
expect_out 'ulysses u4 = usp '
expect_exit 0 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 4 --engine sglang
# Of plans that are as fast the one that runs as it is modelled: SGLang gathers the keys of a ring.
says '--ulysses-degree 2 *Memory: * to spare. The flags for that are --text-encoder-cpu-offload and --vae-tiling in SGLang. '
expect_exit 2 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 4 --engine wan --tokens 20000
says 'this does not fit in Wan2.1: it needs the VAE elsewhere or in tiles, and *the fastest, if it fitted, is * --dit_fsdp --t5_cpu '
expect_exit 2 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 4 --engine diffusers
says 'docs/engines.md knows no sharded weights of diffusers. SGLang, xDiT, vLLM-Omni and Wan2.1 have them.'
expect_not_out 'run.weights = sharded'
expect_exit 2 advise --model hunyuanvideo --cluster 4090x8 --engine xdit
says 'docs/engines.md knows no sharded weights of xDiT. SGLang and vLLM-Omni have them.'
expect_exit 0 advise --model wan2.1-t2v-14b --cluster h100x8 --engine wan -s ulysses
says ' --dit_fsdp --t5_fsdp *Wan2.1 has no flag for the attention kernel. It runs the first of fa3 and fa2 that is installed, and these times are of fa3. *leave no room for the VAE, *fits together with the text encoder and VAE'
python3 -B "$scripts/bad_arrays.py" .
expect_exit 0 advise --model wan-mini --cluster h100x8 --ranks 2 --set model.grid=1,8,8 --set model.heads=2 --set model.head_dim=8 \
  --set mask.block=16 --set cluster.guidance=1 --set cluster.dp=1 --mask good.npy --engine sglang
says 'The kernel vsa is assumed, since your masks *This command sets no attention backend, so it attends densely. Your masks do not say'
# A kernel that is named is the one of the times and of the command, which sets no density for a file.
expect_exit 0 advise --model wan-mini --cluster h100x8 --ranks 2 --set model.grid=1,8,8 --set model.heads=2 --set model.head_dim=8 \
  --block 16 --set cluster.guidance=1 --set cluster.dp=1 --mask good.npy --engine sglang --kernel vsa --json
expect_json 'd["attention_kernel"] == "vsa" and d["mask_block"] == 16' 'any(" --attention-backend video_sparse_attn --enable" in x for x in d["sentences"])' \
  'any("The command sets no density. SGLang makes masks of vsa anew" in x for x in d["sentences"])'
expect_exit 0 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 4
says ' ulysses u2 chunks=4 ' ' ulysses u2 = dbsp ' 'published runs over PCIe on 3 to 4 GPUs' 'Memory: ulysses u2' " with the model's own uncompiled code" \
  ' Without text encoder and VAE it needs ' 'Too close to call: * from ulysses u2 by less than ' 'No engine runs ulysses u2 chunks=4, the fastest. ' \
  '--engine sglang or vllm-omni prints the command' ' ring r2 *s  (sglang), vllm-omni * allgather_kv r2 *s  sglang, vllm-omni * Engines in brackets run a ring in another way than it is modelled here' \
  ' The flags for that are --text-encoder-cpu-offload and --vae-tiling in SGLang. '
expect_not_out 'megatron_sp is'
expect_exit 0 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 2
says "It does not fit with the model's own uncompiled code."
# Heads that engines refuse are a note, and the setting that they take stands beside the answer.
expect_exit 0 advise --model wan2.1-t2v-1.3b --cluster h100x8 --set cluster.guidance=1 --set cluster.dp=1 --json
expect_json '"4 ranks 2 of the 12 heads and 4 ranks 1" in d["notes"][0]' 'd["engines"]["ulysses"] == ["diffusers", "vllm-omni"]' \
  'any(x["uneven_heads"] for x in d["comparison"]["strategies"] if x["name"] == "ulysses")' 'd["best"] == "usp"'
expect_exit 0 advise --model wan2.1-t2v-1.3b --cluster h100x8 --set cluster.guidance=1 --set cluster.dp=1 -s ulysses -s ring
says 'Its heads are uneven, which only diffusers and vLLM-Omni run. '
# No engine has masks of paro, and SGLang's kernels of SpargeAttn are for some GPUs and heads.
expect_exit 0 advise --model hunyuanvideo --cluster h100x8 --pattern paro --density 0.3 --seeds 1 --tokens 20000 -s ulysses -s dbsp
says 'No engine of docs/engines.md runs attention with masks of paro, so you cannot run any row'
expect_refused "SGLang's SpargeAttn runs on GPUs of compute capability 8.0 to 9.0; b200 has 10.0" -- advise --model wan-mini --cluster b200x8 --density 0.3 --engine sglang
expect_refused 'takes heads of 64 or 128 channels; these have 24' -- advise "${tiny[@]}" --engine sglang
# Of one plan, too, another division is called better by more than the error of the model.
expect_exit 0 advise --model cogvideox1.5-5b --cluster a100x8 --ranks 2 --tokens 20000
says 'One GPU runs each pass. * passes in turn on 2 GPUs with ' 'Sparse masks (--density 0.4) cut a layer from * to *, so the same plan takes '
expect_not_out 'samples an hour instead' 'vs single'

# What an engine has, and nothing else.
expect_exit 0 advise "${dense[@]}" --engine diffusers --json
expect_json 'd["engine"] == "diffusers"' 'all("diffusers" in x for x in d["engines"].values())' \
  '{x["name"] for x in d["comparison"]["strategies"]} == {"ulysses"}' \
  'any("_flash_3_hub'"'"'); pipe.transformer.enable_parallelism(config=ContextParallelConfig(ulysses_degree=4)); pipe.transformer.compile_repeated_blocks()" in x for x in d["sentences"])' \
  '"diffusers runs no other strategy here: its ring gathers all keys before attention begins, and it has no tensor parallelism (docs/engines.md)." in d["sentences"]'
# Who names one strategy left the others out; a ring that the engine runs in another way is a note.
expect_exit 0 advise "${dense[@]}" --engine sglang -s ring --json
expect_json '"You named no other strategy to compare it with." in d["sentences"]' \
  'any("In a ring SGLang gathers all keys at once" in x for x in d["notes"])'
# The flags of sparse attention are those of the masks that were modelled.
expect_exit 0 advise "${tiny[@]}" --seeds 1 --engine vllm-omni --pattern vsa --json
expect_json 'any("FASTVIDEO_VSA" in x for x in d["sentences"])' 'any(x.startswith("VSA needs a model that was trained for it. No flag of vLLM-Omni sets a density") for x in d["sentences"])' \
  '"vLLM-Omni runs no other strategy here: it has no sparse attention with anything but Ulysses (docs/engines.md)." in d["sentences"]'
expect_refused 'knows no attention backend of it with masks of sparge' '--pattern vsa' -- advise "${tiny[@]}" --engine vllm-omni
# The first sentence names what an engine runs, and then what the fastest plan, which none runs, would gain.
expect_exit 0 advise "${tiny[@]}" --set model.head_dim=64 --seeds 1 --json
expect_json 'd["sentences"][0].startswith("Use ulysses u4, in SGLang: ")' 'd["best"] == "ulysses" and d["engines"]["ulysses"] == ["sglang"]' \
  '"allgather_kv r4, which no engine runs, would be " in d["sentences"][0] and d["fastest"] == "allgather_kv"'
expect_exit 0 advise "${tiny[@]}" --set model.head_dim=64 --seeds 1
expect_out '* ulysses u4' '* the one to use'  # the mark is on what the first sentence names, not on the fastest
# A picture and a film by their size; of several nodes no published run says how far off the time is.
flux=(--model flux.1-dev --cluster ndr-h100-x2 --set cluster.dp=1 -s ulysses -s usp)
expect_exit 0 advise "${flux[@]}"
says ' for images of 3072x3072: ' 'No published run is on several nodes' 'flux.1-dev, 3072x3072, 37,376 tokens' '16 x h100 on 2 nodes of ndr-h100'
expect_exit 0 advise "${flux[@]}" --density 0.4 --seeds 1
expect_not_out 'all dense'
expect_refused '--engine wan: it does not run hunyuanvideo' -- advise --model hunyuanvideo --cluster h100x8 --engine wan
expect_refused 'diffusers: docs/engines.md knows no sparse attention of it' 'use --engine sglang' -- advise "${tiny[@]}" --engine diffusers
expect_refused 'xdit: docs/engines.md knows no sparse attention of it for hunyuanvideo' 'use --engine sglang' -- advise --model hunyuanvideo --cluster h100x8 --density 0.3 --engine xdit
expect_refused 'did you mean "vllm-omni"?' -- advise "${dense[@]}" --engine vllm

expect_exit 0 advise "${tiny[@]}" --seeds 2 --what-if link=0.5,density=0.6 --json
expect_json 'd["best"] in [x["id"] for x in d["comparison"]["strategies"]]' 'd["seeds"] == [1, 2]' \
  'd["mask_block"] == 64' 'd["speedup"]["least"] <= d["speedup"]["mean"] <= d["speedup"]["most"]' 'd["speedup"]["seeds"] == 2' \
  'len(d["next_commands"]) == 2' 'len(d["engines"]) >= 5' 'd["what_if"]["comparison"]["workload"]["density"] > 0.5' \
  'all(x["pick"] is not None for x in d["comparison"]["strategies"])' \
  'd["comparison"]["workload"]["scope"] == "layer"'

# No other candidate of any strategy beats the fastest, but for those that come to the same. Of those that are too close
# to call, the one that is named runs in most engines.
expect_json 'next(x["makespan_ns"] for x in d["comparison"]["strategies"] if x["id"] == d["fastest"]) <= 1.002 * min(x["makespan_ns"] for x in d["comparison"]["strategies"] if x["legal"])' \
  'd["what_if"]["fastest"] != None != d["what_if"]["best"]' \
  'len(d["engines"][d["best"]]) == max(len(d["engines"][x["id"]]) for x in d["comparison"]["strategies"] if x["id"] in d["engines"] and (x["id"] == d["best"] or x["label"] in [y.split(" = ")[0] for y in d["as_fast"]]))'

few=(--model wan-mini --cluster h100x8 --ranks 4 --seeds 1 --set model.heads=3 --set model.head_dim=64
  --set cluster.guidance=1 --set cluster.dp=1)
expect_exit 0 advise "${few[@]}" --json -s ulysses -s ring -s dbsp
# No winner is named while one that was asked for cannot run: not in the sentence, the table or the JSON.
expect_json 'd["reference"] == "ring"' 'd["best"] is None' 'd["fastest"] in ("ring", "dbsp")' 'd["argument"].split(":")[0] in ("ring", "dbsp")' \
  '"No winner is named, since ulysses was asked for" in d["sentences"][0]' 'd["what_if"] is None'
expect_exit 0 advise "${few[@]}" -s ulysses -s ring -s dbsp --what-if link=0.5
expect_out 'No winner is named' 'ring r4  '
expect_not_out '* fastest' '* the one to use'
expect_exit 0 advise "${few[@]}" -s ulysses -s ring -s dbsp --what-if link=0.5 --json
expect_json 'd["what_if"]["best"] is None' 'd["what_if"]["fastest"] in ("ring", "dbsp")'
expect_exit 2 advise "${few[@]}" -s ulysses --json
expect_json 'd["best"] is None' 'd["fastest"] is None' 'd["reference"] is None' 'd["speedup"] is None'

# Where the config leaves it open, replicas and passes of guidance at once are compared; the fastest division is taken.
expect_exit 0 advise --model wan-mini --cluster h100x8 --ranks 4 --seeds 1 --json
expect_json '[(x["dp"], x["guidance"]) for x in d["divisions"]] == [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)]' \
  'all(x["dp"] * x["guidance"] * x["ranks"] == 4 for x in d["divisions"])' \
  'd["comparison"]["workload"]["ranks"] == min(d["divisions"], key=lambda x: x["end_to_end_ns"])["ranks"]'
# They are timed on all seeds: the time of a plan is the same in the first sentence, its row and its division.
expect_exit 0 advise --model wan2.1-t2v-1.3b --cluster h100x8 --ranks 4 --tokens 4000 --density 0.3 --seeds 2 --set cluster.dp=1 -s ulysses -s ring --json
expect_json '[(x["dp"], x["guidance"]) for x in d["divisions"]] == [(1, 1), (1, 2)]' \
  'min((x["end_to_end_ns"], x["best"]) for x in d["divisions"]) == next((x["end_to_end_ns"], x["label"]) for x in d["comparison"]["strategies"] if x["id"] == d["best"])' \
  'next("%.2f s end to end" % (x["end_to_end_ns"] / 1e9) for x in d["comparison"]["strategies"] if x["id"] == d["best"]) in d["sentences"][0]'
# So small a model is slower on several ranks than on one.
expect_exit 0 advise --model wan-mini --cluster h100x8 --ranks 4 --seeds 1 --all
expect_out 'Ways to divide the ranks' 'samples an hour' '2 at once' 'For throughput, run 4 independent replicas'

# Where the network's numbers are ranges, over PCIe with more than 4 GPUs and between nodes, so are the times of a layer:
# those of the JSON, of a strategy that they concern.
wide=(--model wan-mini --seeds 1 --set model.heads=16 --set model.head_dim=12 --set cluster.guidance=1 --set cluster.dp=1
  -s ulysses -s ring -s usp -s dbsp)
for cluster in l20x8 hdr-a100-x2; do
  expect_exit 0 advise "${wide[@]}" --cluster "$cluster" --all
  cp -- "$out" text
  expect_exit 0 advise "${wide[@]}" --cluster "$cluster" --json
  python3 -B - text "$out" <<'PYTHON' || fail "the range over $cluster is not that of the times"
import json, re, sys
rows = open(sys.argv[1]).read().split("\n")
ranged = 0
for s in json.load(open(sys.argv[2]))["comparison"]["strategies"]:
    low, high = s["makespan_low_ns"], s["makespan_high_ns"]
    if not s["legal"] or low is None or low == high: continue
    assert low <= s["makespan_ns"] <= high, s["id"]
    # Of the row of its label, which the table has once; plans that are equal to another have none.
    found = [found for row in rows if row[2:].startswith((s["label"] + "  ", s["label"] + " = ")) and (found := re.search(r"([0-9.]+)-([0-9.]+) (us|ms)", row))]
    if not found: continue
    text, = found
    unit, passes = {"us": 1e3, "ms": 1e6}[text[3]], len(s["by_layer"])
    for ns, number in ((low, text[1]), (high, text[2])):
        assert abs(float(number) * unit / (ns / passes) - 1) < 0.006, (s["label"], ns, number)
    ranged += 1
assert ranged > 1, rows
PYTHON
done

# More tokens are a larger grid; a mask of one's own needs no seeds.
expect_exit 0 advise "${tiny[@]}" --tokens 3136 --seeds 1 --json
expect_json 'd["comparison"]["workload"]["tokens"] == 3136'
expect_exit 0 mask generate sparge --heads 8 --grid 4,14,14 --density 0.3 -o mine.npy
expect_exit 0 advise --model wan-mini --cluster h100x8 --ranks 4 --set model.heads=8 --set model.head_dim=24 --mask mine.npy
expect_out 'file mine.npy'

# Masks that attend nothing have no winner.
python3 -B -c 'data = open("mine.npy", "rb").read(); open("zero.npy", "wb").write(data[:128] + bytes(len(data) - 128))'
expect_exit 2 advise --model wan-mini --cluster h100x8 --ranks 4 --set model.heads=8 --set model.head_dim=24 --mask zero.npy
expect_out 'The masks attend nothing'

# The time end to end of the attention alone says so.
expect_exit 0 advise "${tiny[@]}" --seeds 1 --set run.scope=attention
expect_out 'End to end counts attention only'

# Where copies of the weights leave no room, sharded ones are looked at too, unless the config says which.
large=(--model wan2.1-t2v-14b --cluster 4090x8 --tokens 20000 --density 0.3 --seeds 1)
expect_exit 0 advise "${large[@]}" --save sharded.toml
says 'Whole weights, 26.6 GiB, leave some strategies too little room, so each GPU keeps a part of them under FSDP.'
grep -q '^weights = "sharded"' sharded.toml || fail "the saved run does not shard the weights"
# With more ranks than a host without a network has, nothing is looked for.
expect_exit 0 advise --model wan2.1-t2v-14b --cluster 4090x8 --ranks 4 --implementation official --seeds 1 --tokens 20000 -s ring
expect_exit 0 advise "${large[@]}" --set run.weights=replicated
expect_not_out 'FSDP'

expect_refused 'lacks --model' 'lacks --cluster' 'spscope list models' -- advise
# Names in another case and with what people put before them; what is refused is what was typed.
expect_exit 0 advise --model Wan-AI/Wan2.1-T2V-1.3B-Diffusers --cluster RTX4090x8 --ranks 2 --json
expect_json 'd["comparison"]["workload"]["model"] == "wan2.1-t2v-1.3b"' 'd["comparison"]["workload"]["cluster"] == "4090x8"'
expect_refused '--cluster: "h100x4"' 'use --cluster h100x8 --ranks 4' -- advise --model wan-mini --cluster h100x4
expect_refused '> --model wan2.1-14b' 'did you mean "wan2.1-t2v-14b"?' -- advise --model wan2.1-14b --cluster h100x8
expect_refused '> --pattern spargee' -- advise --model wan-mini --cluster h100x8 --pattern spargee
expect_refused 'block: 385 is outside [1, 384]' '> --block 385' -- advise --model wan-mini --cluster h100x8 --density 0.3 --block 385
expect_refused 'is of sparse masks, and the question is of dense' -- advise --model wan-mini --cluster h100x8 --block 16
expect_refused 'answers from a model' -- advise "${tiny[@]}" --set run.mode=execute
expect_refused 'did you mean "--what-if"?' -- advise "${tiny[@]}" --what link=1
expect_refused '"fast" is not a number from 0.001 to 1000 of link' -- advise "${tiny[@]}" --what-if link=fast
