"""Figures and tables of papers beside what spscope makes of them; scripts/reproduce says how to call it."""
import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reproductions.md"
RUNS = ROOT / "build/reproductions"
NEAR = 0.10  # of a published figure: what is further off needs a cause
UNEXPLAINED = "unexplained"
WAN, COG = "wan2.1-t2v-14b", "cogvideox1.5-5b"
GIB = 1 << 30

HEAD = """# Published figures, run again

`scripts/reproduce` writes this page. It simulates and stores a run for every figure below, prints its command, and reads the
numbers from the stored run, which `spscope report build/reproductions/RUN.db` shows. All times of spscope are modelled, by the
built-in profiles. A figure that is more than 10 % off has its cause beside it, or "unexplained".
[sparse.md](../bench/measured/sparse.md) has each bar of db-SP's figure.
"""
DB_SP = """
## db-SP

[arXiv 2511.23113](https://arxiv.org/abs/2511.23113). The bars are read off the picture in its repository, to 2 %; its tables are
as readers of the paper quote them. Masks are generated: none of the paper's is published.
"""
STREAM_FUSION = """
## StreamFusion

[arXiv 2601.20273](https://arxiv.org/abs/2601.20273), later SwiftFusion; as readers of the paper quote it. Layers on machines of
eight A100 (`p4de-xN`). USP is `usp:ulysses=8,ring=N`, TAS `usp:ranks=topology`. All ratios rest on how much a transfer slows the
kernels beside it, which published runs put between 1.0 and 2.6: the range of a ratio has both ends. spscope assumes that a
transfer by one side slows none, which is most of what it gains. CogVideoX has 48 heads and 8 frames a second here; the paper says 24 heads.
"""
DSP = """
## DSP

[arXiv 2403.10266](https://arxiv.org/abs/2403.10266). The paper trains on H100; spscope runs the forward pass, on `h100x8` and
`ndr-h100-xN`. Where a figure needs training, the page compares a formula, or forward passes, and says which.
"""


class Lab:
    """Runs, stored under their names."""

    def __init__(self, program):
        self.program = program
        RUNS.mkdir(parents=True, exist_ok=True)

    def run(self, name, strategies, **settings):
        """Results of strategies, in their order, and the name."""
        keys = {"run.mode": "simulate", "run.output": RUNS / f"{name}.db"}
        keys |= {key.replace("__", "."): value for key, value in settings.items()}
        RUNS.joinpath(f"{name}.db").unlink(missing_ok=True)
        command = [self.program, "run", "--json"] + [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]
        command += [part for strategy in strategies for part in ("-s", strategy)]
        print(shlex.join(map(str, command)), flush=True)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return json.loads(done.stdout)["strategies"], name


def ratios(over, of):
    """Times as fast, at the fast end of ranges, as it is, at the slow end."""
    return [o[key] / s[key] if o[key] and s[key] else o["makespan_ns"] / s["makespan_ns"]
            for o, s in [(over, of)] for key in ("makespan_low_ns", "makespan_ns", "makespan_high_ns")]


def off(ours, paper):
    return f"{ours / paper - 1:+.0%}"


def row(run, what, paper, ours, cause="", form="{:.2f}", held=None):
    """A row of a number beside a number, from the run of this name; `held`: the ends of its range."""
    far = abs(ours / paper - 1) > NEAR
    within = held and min(held) <= paper <= max(held)
    said = form.format(ours) + (f" ({form.format(min(held))} to {form.format(max(held))})" if held and min(held) != max(held) else "")
    why = "" if not far else "in its range" if within else cause or UNEXPLAINED
    return [what, form.format(paper), said, off(ours, paper), run, why]


def claim(run, what, paper, ours, holds, cause=""):
    """A row of what a paper says in words."""
    return [what, paper, ours, "holds" if holds else "misses", run, "" if holds else cause or UNEXPLAINED]


def table(rows, heads=("figure", "paper", "spscope", "error", "run", "cause")):
    lines = ["", "| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


# -- db-SP

# Imbalance before db-SP, Table 1: U8, ring of 8, U4 R2, U2 R4.
IMBALANCE = {(WAN, "paro"): (1.355, 1.255, 1.253, 1.246), (WAN, "sparge"): (1.428,), (COG, "paro"): (1.447, 1.269),
             (COG, "sparge"): (1.513,)}
# Seconds of a whole generation under Ulysses and db-SP: GPUs, cluster, model, density.
END_TO_END = {(8, "a800", WAN, .414): (159, 139), (8, "a800", WAN, .683): (190, 154), (8, "h800", WAN, .414): (90, 75),
              (8, "h800", WAN, .683): (106, 84), (8, "a800", COG, .414): (128, 95), (8, "a800", COG, .683): (157, 111),
              (8, "h800", COG, .414): (76, 62), (8, "h800", COG, .683): (91, 69), (4, "a800", WAN, .414): (291, 262),
              (4, "a800", WAN, .683): (349, 305), (4, "h800", WAN, .414): (158, 143), (4, "h800", WAN, .683): (190, 167),
              (4, "a800", COG, .414): (225, 190), (4, "a800", COG, .683): (279, 226), (4, "h800", COG, .414): (117, 102),
              (4, "h800", COG, .683): (145, 122)}
SHORT = {WAN: "Wan", COG: "CogVideoX1.5"}


def imbalance(lab):
    rows, head, block, unbiased = [], [], [], []
    for (model, pattern), paper in IMBALANCE.items():
        asked = ["ulysses", "ring", "usp:ulysses=4,ring=2", "usp:ulysses=2,ring=4", "dbsp:ulysses=8,ring=1", "dbsp:ulysses=1,ring=8",
                 "dbsp:ulysses=1,ring=8,reward=0"]
        results, run = lab.run(f"imbalance-{model}-{pattern}", asked, model__preset=model, mask__pattern=pattern,
                               cluster__preset="a800x8", run__layers="spread:8", run__scope="attention")
        ours = [result["barrier_imbalance_ratio"] for result in results]
        rows += [row(run, f"Table 1, {SHORT[model]}, {pattern}, {name}", published, of, form="{:.3f}")
                 for name, published, of in zip(asked, paper, ours)]
        for kept, of in zip((head, block, unbiased), ours[4:]):
            kept.append(of)
    rows.append(claim("imbalance-*", "balanced heads (U8)", "at most 1.10", f"{min(head):.3f} to {max(head):.3f}", max(head) <= 1.10))
    rows.append(claim("imbalance-*", "balanced blocks (R8)", "at most 1.05", f"{min(block):.3f} to {max(block):.3f}",
                      max(block) <= 1.05, f"`reward`, whose value the paper does not say: without it {max(unbiased):.3f}"))
    (dbsp,), run = lab.run("replans", ["dbsp:ulysses=8,ring=1"], model__preset=WAN, mask__pattern="paro", cluster__preset="a800x8",
                           run__layers=1, run__denoise_steps=50, run__scope="attention")
    rows.append(["divisions in 50 denoise steps, Wan", "5", str(dbsp["replans"]), off(dbsp["replans"], 5), run,
                 "one layer here; the paper decides by the mean of 40"])
    return rows


def bars():
    """What sparse.md has of the figure, by strategy and number of GPUs."""
    sys.path.insert(0, str(ROOT / "tests/docs"))
    import sparse_runs
    text = (ROOT / sparse_runs.PAGE).read_text("utf-8")
    rows = []
    for gpus in (8, 4):
        lines = [line for line in text.splitlines() if line.startswith(("| **", f"| {gpus} A800", f"| {gpus} H800"))]
        for (source, strategy), group in sparse_runs.groups_of(sparse_runs.read_page("\n".join(lines))).items():
            if "db-SP" not in source:
                continue
            runs, near, held, paper, ours = sparse_runs.counts(group)
            causes = {"burst": "tiles of few rows, and what its rings are modelled to take", "ring": "rings: see accuracy.md",
                      "dbsp": "dense tiles: the gain grows with the density in the figure, which no balance explains"}
            rows.append(row("see sparse.md", f"attention over Ulysses, {gpus} GPUs, {strategy}: mean of {runs} bars ({near} within 10 %, "
                            f"{held} more in their range)", float(paper), float(ours), causes.get(strategy, "")))
    return rows


def end_to_end(lab):
    rows = []
    for (gpus, gpu, model, density), (ulysses_s, dbsp_s) in END_TO_END.items():
        (ulysses, dbsp), run = lab.run(f"seconds-{gpus}-{gpu}-{model}-{density}", ["ulysses", "dbsp"], model__preset=model, model__cfg=1,
                                       mask__pattern="paro", mask__density=density, cluster__preset=f"{gpu}x8", cluster__ranks=gpus,
                                       run__layers="spread:4", run__scope="layer", run__implementation="official")
        what = f"{SHORT[model]}, {gpus} {gpu.upper()}, density {density}"
        rows.append(row(run, f"seconds, Ulysses, {what}", ulysses_s, ulysses["end_to_end_ns"] / 1e9, form="{:.0f}",
                        cause="code of Wan2.1 assumed, one pass a denoise step, and no INT8, in which their kernel multiplies"))
        rows.append(row(run, f"db-SP over Ulysses, whole generation, {what}", ulysses_s / dbsp_s,
                        ulysses["end_to_end_ns"] / dbsp["end_to_end_ns"], "follows from attention, above"))
    settings = dict(model__preset=WAN, model__cfg=1, mask__pattern="paro", mask__density=.414, cluster__preset="a800x8",
                    run__layers="spread:4", run__scope="layer", run__implementation="official")
    (one,), single = lab.run("single", ["single"], cluster__ranks=1, **settings)
    (ulysses, ring), eight = lab.run("of-single", ["ulysses", "ring"], **settings)
    alone = one["end_to_end_ns"]
    rows.append(claim(single, "one A800, Wan, a video", "more than 15 min", f"{alone / 60e9:.1f} min", alone > 900e9))
    rows.append(row(f"{single}, {eight}", "8 A800 over one, Ulysses", 6.09, alone / ulysses["end_to_end_ns"]))
    rows.append(row(f"{single}, {eight}", "8 A800 over one, ring", 5.81, alone / ring["end_to_end_ns"]))
    return rows


# -- StreamFusion

# Over USP, Fig. 10: grid of tokens, machines; TAS, Torus over NCCL, Torus by one side. None: not printed.
FIGURE_10 = {("Flux 3072", "flux.1-dev", "[1, 192, 192]", 2): (None, None, None),
             ("Flux 3072", "flux.1-dev", "[1, 192, 192]", 3): (1.11, 1.01, 1.11),
             ("Flux 3072", "flux.1-dev", "[1, 192, 192]", 4): (1.64, 1.06, 1.77),
             ("Flux 4096", "flux.1-dev", "[1, 256, 256]", 4): (1.62, 1.49, 1.61),
             ("CogVideoX, 20 s", COG, "[41, 48, 85]", 3): (1.08, 1.26, 1.22),
             ("CogVideoX, 40 s", COG, "[81, 48, 85]", 3): (1.06, 1.16, 1.17)}


def stream_fusion(lab):
    rows, best, memory = [], [], []
    for (what, model, grid, nodes), paper in FIGURE_10.items():
        asked = [f"usp:ulysses=8,ring={nodes}", "usp:ranks=topology", "torus", "torus:comm=one_sided", "torus:keys=again"]
        results, run = lab.run(f"torus-{what.lower().replace(',', '').replace(' ', '-')}-{nodes}", asked, model__preset=model,
                               model__grid=grid, mask__pattern="dense", cluster__preset=f"p4de-x{nodes}", run__layers=1,
                               run__scope="layer")
        usp, tas = (max(result["bytes_sent_inter_node"]) for result in results[:2])
        if what == "Flux 3072":
            rows.append(row(run, f"bytes between {nodes} machines, USP over TAS", nodes / 2, usp / tas))
        of = [ratios(results[0], result) for result in results[1:4]]
        if nodes == 2:
            rows.append(claim(run, f"{what}, 2 machines, TAS over USP", "at most 1", f"{of[0][1]:.2f}", max(of[0]) <= 1))
            continue
        best.append(max(at[1] for at in of))
        rows += [row(run, f"{what}, {nodes} machines, {name}", published, at[1], held=at)
                 for name, published, at in zip(("TAS", "Torus, two sides", "Torus, one side"), paper, of)]
        if (what, nodes) == ("Flux 3072", 4):
            of_memory, memory = run, [max(results[i]["memory_peak_bytes"]) / 1e6 for i in (0, 2, 3, 4)]
    rows.append(row("torus-*", "the best of each, mean", 1.35, mean(best)))
    rows.append(row("torus-*", "the best of each, largest", 1.77, max(best)))
    rows.append(claim(of_memory, "memory of Torus, Flux 3072, 4 machines", "not above USP",
                      "USP {:.0f} MB; Torus {:.0f}, by one side {:.0f}, keys sent again {:.0f} MB".format(*memory),
                      max(memory[1:]) <= memory[0], "what a rank holds of other nodes' keys, and rows until they are home"))
    return rows


# -- DSP

MODELS = {"dsp-720m": (28, 1152, 16, 720e6), "dsp-3b": (36, 2048, 32, 3e9)}  # layers, channels, heads, parameters
POSITIONS = 4096
FRAMES = {"0.5M": 128, "1M": 256, "2M": 512, "4M": 1024}
# Degrees of Table 4: DSP, Ulysses and Ring; Megatron-SP. None: out of memory.
TABLE_4 = {"dsp-720m": ((2, 4, 8, 16), (2, 4, 16, None)), "dsp-3b": ((4, 8, 16, 32), (4, 16, None, None))}
# Frames of strong and weak scaling inside a node and between nodes (Tables 6 and 7).
INSIDE, BETWEEN = {"dsp-720m": 64, "dsp-3b": 16}, {"dsp-720m": 256, "dsp-3b": 128}


def on(gpus):
    return ("ndr-h100-x" + str(gpus // 8) if gpus > 8 else "h100x8", gpus)


def forward(lab, name, strategies, model, frames, gpus, batch=1):
    cluster, ranks = on(gpus)
    return lab.run(f"dsp-{name}-{model}-{frames}-{gpus}-{batch}", strategies, model__preset=model,
                   model__grid=f"[{frames}, 64, 64]", model__batch=batch, mask__pattern="dense", cluster__preset=cluster,
                   cluster__ranks=ranks, run__layers=1, run__scope="layer")


def table_3(lab):
    """Bytes of a layer, as multiples of the activations: times (N - 1) / N of what the paper has, which counts what stays."""
    volumes = {"dsp": lambda n: 2 / n, "ulysses": lambda n: 4 / n, "ring": lambda n: 2, "megatron_tp": lambda n: 8, "megatron_sp": lambda n: 8}
    equal, cells = 0, 0
    for model, (_, channels, *_) in MODELS.items():
        for gpus in (2, 4, 8, 16, 32, 64):
            frames = INSIDE[model] if gpus <= 8 else BETWEEN[model]
            whole = frames * POSITIONS * channels * 2
            for result in forward(lab, "bytes", list(volumes), model, frames, gpus)[0]:
                if result["legal"]:
                    cells += 1
                    equal += set(result["bytes_sent"]) == {round(volumes[result["name"]](gpus) * (gpus - 1) / gpus * whole)}
    return [claim("dsp-bytes-*", f"Table 3, bytes of a layer: {cells} legal cells, 2 to 64 GPUs, both models", "2M/N, 4M/N, 2M, 8M, 8M",
                  f"{equal} are the paper's x (N-1)/N, to the byte", equal == cells)]


def least_degree(model, frames, megatron):
    """Of training: activations of checkpointed blocks, weights and their optimizer, in 77.5 GiB; (blocks + 34) m, Megatron-SP 8 M
    more. ZeRO-2 cuts what is not weights over 128 GPUs; Megatron-SP cuts all over its ranks."""
    layers, channels, heads, parameters = MODELS[model]
    whole = frames * POSITIONS * channels * 2
    for degree in (1, 2, 4, 8, 16, 32, 64):
        if megatron and degree > heads:
            return None
        weights = 16 * parameters / degree if megatron else 2 * parameters + 14 * parameters / 128
        if (2 * layers + 34) * whole / degree + (8 * whole if megatron else 0) + weights <= 77.5 * GIB:
            return degree
    return None


def table_4():
    said, equal = [], 0
    for model, kinds in TABLE_4.items():
        for megatron, paper in enumerate(kinds):
            ours = [least_degree(model, frames, megatron) for frames in FRAMES.values()]
            equal += sum(a == b for a, b in zip(ours, paper))
            text = [", ".join(str(degree or "none") for degree in degrees) for degrees in (paper, ours)]
            said.append([f"Table 4, least degree at {', '.join(FRAMES)} tokens, {model}, " +
                         ("Megatron-SP" if megatron else "DSP, Ulysses, Ring"), *text,
                         "holds" if text[0] == text[1] else "misses", "none: a formula",
                         "" if text[0] == text[1] else "the paper's 4 is not explained"])
    return said


def table_9(lab):
    results, run = forward(lab, "latency", ["dsp", "ulysses", "megatron_tp", "megatron_sp"], "dsp-720m", 2048, 8)
    times = [max(result["wire_ns"]) / 1e6 for result in results]
    rows = [claim(run, "Table 9, order of communication, 8M tokens: DSP, Ulysses, Megatron-LM, Megatron-SP", "914, 5828, 8412, 51908 ms",
                  ", ".join(f"{t:.0f}" for t in times) + " ms a layer, 8 GPUs", times == sorted(times))]
    rows.append(row(run, "Table 9, Ulysses over DSP", 5828 / 914, times[1] / times[0],
                    "twice the bytes; the paper does not say its setting"))
    return rows


def scaling(lab):
    rows = []
    for model, linear in (("dsp-720m", 8), ("dsp-3b", 4)):
        times = {gpus: forward(lab, "strong", ["single" if gpus == 1 else "dsp"], model, INSIDE[model], gpus)[0][0]["makespan_ns"]
                 for gpus in (1, 2, 4, 8)}
        rows += [row(f"dsp-strong-{model}-*", f"Fig. 7, strong scaling, {model}, {gpus} GPUs over one", gpus, times[1] / times[gpus],
                     "switches, which grow beside a layer that shrinks") for gpus in (2, 4, 8) if gpus <= linear]
    for model, frames, of, paper in (("dsp-720m", INSIDE, (1, 2, 4, 8), None), ("dsp-720m", BETWEEN, (8, 16, 32), None),
                                     ("dsp-3b", BETWEEN, (8, 16, 32, 64), .85)):
        times = [forward(lab, "weak", ["single" if gpus == 1 else "dsp"], model, frames[model], gpus, gpus // of[0])[0][0]["makespan_ns"]
                 for gpus in of]
        kept = [times[0] / time for time in times]
        what = f"Fig. 6, weak scaling, {model}, throughput of a GPU from {of[0]} GPUs to {', '.join(map(str, of[1:]))}"
        runs = f"dsp-weak-{model}-{frames[model]}-*"
        if paper:
            rows.append(row(runs, what, paper, kept[-1]))
        else:
            rows.append([what, "no number", ", ".join(f"{k:.2f}" for k in kept[1:]), "", runs, ""])
    return rows


def flops(model, frames):
    """Of a forward pass of a layer: two blocks of 12 C^2 weights; attention along positions in one, along frames in the other."""
    channels = MODELS[model][1]
    return frames * POSITIONS * (2 * 24 * channels**2 + 4 * channels * (POSITIONS + frames))


def throughput(lab):
    rows = []
    for model, (degrees, _) in TABLE_4.items():
        gains, drops = [], {}
        for (tokens, frames), gpus in zip(FRAMES.items(), degrees):
            results, _ = forward(lab, "training", ["dsp", "ulysses"], model, frames, gpus)
            gains.append(results[1]["makespan_ns"] / results[0]["makespan_ns"])
            for result in results:
                drops.setdefault(result["name"], []).append(flops(model, frames) / result["makespan_ns"] / gpus)
        runs = f"dsp-training-{model}-*"
        rows.append(claim(runs, f"Fig. 5, DSP over Ulysses, {model}, {', '.join(FRAMES)} tokens", "1.32 to 1.75, training",
                          ", ".join(f"{gain:.2f}" for gain in gains) + ", forward", min(gains) >= 1.32 and max(gains) <= 1.75,
                          "Ulysses sends twice the bytes, which are a small part of a forward pass; the backward pass is not run"))
        dsp, ulysses = (1 - kept[-1] / kept[0] for kept in drops.values())
        rows.append(claim(runs, f"FLOPS of a GPU from 0.5M to 4M tokens, {model}, DSP", "at most 23 % less", f"{dsp:.0%} less", dsp <= .23))
        rows.append(claim(runs, f"FLOPS of a GPU from 0.5M to 4M tokens, {model}, Ulysses", "at least 40 % less", f"{ulysses:.0%} less",
                          ulysses >= .40, "as Fig. 5"))
    results, run = forward(lab, "others", ["dsp", "ring", "megatron_tp", "megatron_sp"], "dsp-3b", 1024, 32)
    most = {result["name"]: result["makespan_ns"] / results[0]["makespan_ns"] for result in results[1:] if result["legal"]}
    rows.append(claim(run, "Fig. 5, DSP over the others, dsp-3b, 4M tokens", "up to 10x",
                      ", ".join(f"{name} {ratio:.1f}x" for name, ratio in most.items()), 9 <= max(most.values()) <= 11))
    return rows


def of_db_sp(lab):
    return HEAD + DB_SP + table(imbalance(lab) + bars() + end_to_end(lab))


def of_the_others(lab):
    return STREAM_FUSION + table(stream_fusion(lab)) + DSP + table(
        table_3(lab) + table_4() + table_9(lab) + scaling(lab) + throughput(lab))


def main():
    parser = argparse.ArgumentParser(usage="scripts/reproduce [--program PATH] [--check]")
    parser.add_argument("--program", type=Path, default=ROOT / "build/bin/spscope")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    lab = Lab(options.program.resolve())
    if not options.check:
        PAGE.write_text(of_db_sp(lab) + of_the_others(lab), "utf-8")
    elif not PAGE.read_text("utf-8").endswith(of_the_others(lab)):
        sys.exit("docs/reproductions.md is not what its runs say: run scripts/reproduce")


if __name__ == "__main__":
    main()
