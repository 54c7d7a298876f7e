"""Random configs from a seed, small enough that a run of one takes about a second.

`write_case(folder, seed, number, mode)` writes FOLDER/run.toml with the files of masks, activations and clusters that it
names, and returns what it drew. The draw depends on the seed, the number and the mode alone, with the generators of
Python's `random`, whose sequence is the same in all versions.
"""
import json
import math
import random

import numpy as np

FULL_3D = ["wan-mini", "wan2.1-t2v-1.3b"]
JOINT = ["hunyuanvideo", "cogvideox-5b", "flux.1-dev"]
SPATIAL_TEMPORAL = ["st-mini", "open-sora-1.2"]
# Layers of an MM-DiT preset, and how many of them, the last, are single streams.
LAYERS_OF_JOINT = {"hunyuanvideo": (60, 40), "flux.1-dev": (57, 38)}
PATTERNS = ["dense", "window", "sparge", "paro", "svg", "vsa", "radial", "xattention", "headwise", "tokenwise",
            "hybrid-window", "chess"]
EVOLVE = {"sparge", "paro", "svg", "vsa", "xattention"}
PARAMETERS = {
    "window": lambda r: {"sink_blocks": r.randint(0, 2)} | ({"radius": r.randint(0, 3)} if r.random() < 0.5 else {}),
    "sparge": lambda r: {"drift": r.choice([0.0, 0.15, 1.0]), "head_spread": r.choice([0.2, 1.3])},
    "paro": lambda r: {"kappa": r.choice([1.3, 3.6]), "time_groups": r.choice([1, 2])},
    "svg": lambda r: {"temporal_share": r.choice([0.0, 0.5, 1.0]), "change": r.choice([0.0, 0.3])},
    "chess": lambda r: {"parts": r.choice([2, 4, 8])},
    "radial": lambda r: {"first_frame": r.random() < 0.5},
}


def toml(sections):
    lines = []
    for name, values in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
    return "\n".join(lines)


def draw_model(r, scope, mode):
    kind = r.choices(["full", "joint", "spatial-temporal"], [5, 3, 3])[0]
    preset = r.choice({"full": FULL_3D, "joint": JOINT, "spatial-temporal": SPATIAL_TEMPORAL}[kind])
    heads = r.choice([1, 2, 3, 4, 5, 6, 8, 12])
    head_dim = r.choice([4, 8, 12, 16, 20] if scope == "attention" else [8, 12, 16])
    limit = 640 if mode == "execute" else 1500
    while True:
        grid = [r.randint(1, 7), r.randint(1, 16), r.randint(2, 20)]
        if 24 <= grid[0] * grid[1] * grid[2] <= limit:
            break
    model = {"preset": preset, "grid": grid, "heads": heads, "head_dim": head_dim}
    if kind == "joint":
        model["text_tokens"] = r.choice([0, 1, 7, 16, 33])
    elif preset != "st-mini":
        model["text_tokens"] = r.choice([0, 5, 12])
    if scope == "layer":
        model["ffn"] = r.choice([heads * head_dim, 2 * heads * head_dim + 3, 40])
    if preset in LAYERS_OF_JOINT and r.random() < 0.5:
        model["layers"] = r.choice([2, 3])
    if r.random() < 0.3:
        model["batch"] = 2
    return kind, model


def tokens_of(kind, model):
    """(outer, inner) tokens of the grid."""
    frames, height, width = model["grid"]
    if kind == "spatial-temporal":
        return frames, height * width
    return 1, frames * height * width + (model["text_tokens"] if kind == "joint" else 0)


def random_mask(r, heads, rows, columns):
    """A mask of one of several kinds of imbalance: by head, by row, by column, all, or nothing in some rows or heads."""
    kind = r.choice(["uniform", "heads", "rows", "columns", "empty rows", "empty heads", "diagonal"])
    density = r.choice([0.1, 0.3, 0.6, 0.9])
    bits = bytearray()
    for h in range(heads):
        head = r.random() if kind == "heads" else density
        if kind == "empty heads" and h > 0 and r.random() < 0.5:
            head = 0
        shares = [r.random() for _ in range(columns)]
        for q in range(rows):
            row = r.random() * head * 2 if kind in ("rows", "empty rows") else head
            if kind == "empty rows" and r.random() < 0.3:
                row = 0
            for k in range(columns):
                share = shares[k] if kind == "columns" else row
                if kind == "diagonal":
                    share = 1.0 if abs(q * columns - k * rows) <= max(rows, columns) else 0.05
                bits.append(r.random() < share)
    return bytes(bits)


def block_starts(r, tokens):
    """Borders of blocks of one size with a ragged end, or of any sizes; few blocks more often than many."""
    size = max(1, min(384, r.choice([tokens // 40 + 1, tokens // 12 + 1, tokens // 5 + 1, 16, 64])))
    if r.random() < 0.6:
        return [*range(0, tokens, size), tokens]
    starts = [0]
    while starts[-1] < tokens:
        starts.append(min(tokens, starts[-1] + r.randint(1, min(384, 2 * size))))
    return starts


def draw_mask_file(r, folder, kind, model, evolving):
    """Of 3 to 5 dimensions; with borders in the file or beside it, or with blocks of mask.block tokens; with one row or
    column for each two blocks, or one for each."""
    tokens = tokens_of(kind, model)[1]
    mask = {}
    if r.random() < 0.5:
        starts = block_starts(r, tokens)
    else:
        starts, mask["block"] = None, max(1, min(384, r.choice([tokens // 30 + 1, tokens // 9 + 1, tokens // 3 + 1, 48, 64])))
    blocks = len(starts) - 1 if starts else -(-tokens // mask["block"])
    coarse = r.choice(["", "", "", "q", "k"])
    rows, columns = (-(-blocks // 2) if coarse == axis else blocks for axis in "qk")
    entries = [3, r.choice([1, 3])] if evolving else r.choice([[], [1], [3], [1, 1], [1, 3]])
    bits = b"".join(random_mask(r, model["heads"], rows, columns) for _ in range(math.prod(entries)))
    data = np.frombuffer(bits, r.choice(["|u1", "|b1"])).reshape(*entries, model["heads"], rows, columns)
    borders = {"block_starts": np.array(starts, "<i4")} if starts else {}
    if r.random() < 0.3:
        np.savez(folder / "mask.npz", mask=data, **borders)
        return {"mask": mask | {"file": "mask.npz"}}
    np.save(folder / "mask.npy", data)
    if starts:
        np.save(folder / r.choice(["mask.block_starts.npy", "block_starts.npy"]), borders["block_starts"])
    return {"mask": mask | {"file": "mask.npy"}}


def draw_mask(r, folder, kind, model, evolving):
    if r.random() < (0.5 if kind != "spatial-temporal" else 0.3):
        sections = draw_mask_file(r, folder, kind, model, evolving)
        if kind == "spatial-temporal" and r.random() < 0.4:
            sections["mask"]["temporal_pattern"] = r.choice(["window", "chess", "tokenwise"])
        return sections
    pattern = r.choice(sorted(EVOLVE) if evolving and kind != "spatial-temporal" else PATTERNS)
    mask = {"pattern": pattern, "density": r.choice([0.15, 0.3, 0.5, 0.8]), "block": r.choice([32, 48, 64, 100, 128]),
            "seed": r.randint(0, 99)}
    if pattern in ("dense", "window", "headwise", "tokenwise", "hybrid-window", "chess"):
        mask["block"] = r.choice([8, 16, 27, 32, 64, 100])
    sections = {"mask": mask}
    if kind == "spatial-temporal" and r.random() < 0.6:
        mask["temporal_pattern"] = r.choice(["window", "chess", "tokenwise"])
    for name in dict.fromkeys([mask["pattern"], mask.get("temporal_pattern", "")]):
        if name in PARAMETERS and r.random() < 0.5:
            sections[f"mask.{name}"] = PARAMETERS[name](r)
    return sections


def draw_activations(r, folder, kind, model):
    """Queries and keys whose scores are spread more than those of a seed, as in trained models."""
    outer, inner = tokens_of(kind, model)
    rows = outer * inner
    spread = r.choice([1.0, 3.0, 9.0])
    arrays = {}
    for name, factor in (("q", spread), ("k", 1.0), ("v", 1.0)):
        shape = model["heads"], rows, model["head_dim"]
        arrays[name] = np.array([r.gauss(0, factor) for _ in range(math.prod(shape))], "<f4").reshape(shape)
    np.savez(folder / "activations.npz", **arrays)
    return "activations.npz"


def cluster_file(r, path):
    def number(value):
        return f"{{ value = {value!r}, source = \"drawn\" }}"
    per_node = r.choice([1, 2, 3, 4])
    lines = ['name = "drawn"', 'note = ""', f"gpus_per_node = {per_node}", "scalable = true", "", "[network]",
             'provenance = "assumed"']
    for key, values in {"link_gbps": [0.5, 3.7, 25.0, 160.0], "nic_gbps": [0.3, 2.9, 12.5, 48.0],
                        "intra_latency_ns": [0.0, 0.4, 700.0, 3400.0], "inter_latency_ns": [0.0, 12.6, 14000.0],
                        "rank_nic_gbps": [0.0, 0.2, 24.0], "socket_gpus": [0.0, 1.0, 2.0, 3.0],
                        "socket_gbps": [0.0, 0.4, 5.3, 40.0],
                        "compute_slowdown": [1.0, 1.125, 2.5]}.items():
        lines.append(f"{key} = {number(r.choice(values))}")
    for name in ("point_to_point", "all_to_all", "all_gather", "reduce_scatter", "all_reduce", "one_sided"):
        if r.random() < 0.5:
            lines.append(f"[network.{name}]")
            for key, values in {"floor_ns": [0.0, 900.4, 76500.0], "t0_ns": [0.0, 333.3, 43000.0], "gbps": [0.4, 12.5, 338.0],
                                "inter_t0_ns": [0.0, 190000.0]}.items():
                if (name, key) == ("one_sided", "floor_ns"):
                    continue
                lines.append(f"{key} = {number(r.choice(values))}")
            if name == "all_to_all" and r.random() < 0.5:
                for key, values in {"of_4_gbps": [0.0, 9.5, 15.0], "of_8_gbps": [2.5, 0.7]}.items():
                    lines.append(f"{key} = {number(r.choice(values))}")
    lines += ["", "[cost]", 'provenance = "assumed"']
    for key, values in {"attend_ns_per_launch": [0.0, 51.3, 5000.0], "attend_ns_per_row": [0.0, 0.4612, 3.3],
                        "attend_ns_per_pair_channel": [2.564e-05, 0.0031, 0.02], "move_ns_per_byte": [0.0004904, 0.05],
                        "pack_ns_per_byte": [0.0, 0.0009808, 0.1],
                        "gemm_ns_per_flop": [4.579e-06, 0.0007], "attend_ramp_keys": [0.0, 90.5],
                        "attend_head_dim_multiple": [1.0, 32.0], "small_tile": [1.0, 1.17], "elementwise_passes": [1.0, 4.3],
                        "rotary_passes": [1.0, 11.7], "merge_passes": [1.0, 2.5], "ring_merge_passes": [0.0, 3.1],
                        "host_ns_per_launch": [0.0, 811.5], "host_ns_per_collective": [0.0, 1203.25],
                        "host_ns_per_hop": [0.0, 97.0]}.items():
        lines.append(f"{key} = {number(r.choice(values))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return per_node


def draw_cluster(r, folder, mode):
    ranks = r.choice([1, 2, 3, 4, 5, 6, 8] if mode != "execute" else [1, 2, 2, 3, 4, 4, 5, 6])
    if r.random() < 0.6:
        per_node = cluster_file(r, folder / "cluster.toml")
        if ranks > per_node:  # whole nodes
            ranks = per_node * r.randint(1, max(1, 8 // per_node))
        return {"profile": "cluster.toml", "ranks": ranks}
    return {"preset": r.choice(["local", "a800x8", "h100x8", "l40sx8"]), "ranks": ranks}


def draw_strategy(r, ranks, heads, scope):
    name = r.choice(["single", "ulysses", "ring", "usp", "dbsp", "cyclic", "snake", "allgather_kv", "burst", "dsv", "ring", "usp",
                     "dbsp", "torus"]
                    + (["dsp", "megatron_sp", "megatron_tp"] if scope == "layer" else []))
    given = {}
    if name == "torus":
        given = {"heads": r.choice(["even", "balanced"]), "order": r.choice(["contiguous", "cyclic"]),
                 "comm": r.choice(["two_sided", "one_sided"]), "sync": r.choice(["signals", "barrier"]),
                 "keys": r.choice(["kept", "again"])}
        if r.random() < 0.4:
            given["ulysses"] = r.choice([2, 3, 4, 6])
    if name == "ulysses" and r.random() < 0.4:
        given["chunks"] = r.choice([1, 2, 3])
    if name == "ring":
        given["order"] = r.choice(["contiguous", "cyclic"])
    if name == "burst":
        given["order"] = r.choice(["stripe", "contiguous", "cyclic"])
    if name == "dsv":
        given["overlap"] = r.choice(["true", "false"])
    if name in ("usp", "dbsp", "cyclic", "dsv"):
        degrees = [d for d in range(1, ranks + 1) if ranks % d == 0 and d <= heads]
        if degrees and r.random() < 0.8:
            given["ulysses"] = r.choice(degrees)
            given["ring"] = ranks // given["ulysses"]
        given["ranks"] = r.choice(["contiguous", "strided"])
        if name == "usp" and r.random() < 0.2:
            given = {"ranks": "topology"}
    if name == "allgather_kv" and r.random() < 0.5:
        given |= {"ulysses": r.choice([d for d in range(1, ranks + 1) if ranks % d == 0]),
                  "ranks": r.choice(["contiguous", "strided"]), "order": r.choice(["contiguous", "cyclic"]),
                  "heads": r.choice(["even", "balanced"])}
    if name in ("allgather_kv", "megatron_sp", "megatron_tp"):
        given["collective"] = r.choice(["ring", "flat", "hierarchical", "tree"])
    if name == "usp":
        given["order"] = r.choice(["contiguous", "cyclic"])
    if name == "dbsp":
        given |= {"degrees": r.choice(["scheduled", "predicted"]), "reward": r.choice([0, 1, 2, 10]),
                  "exchange": r.choice(["both", "queries", "none"]), "heads": r.choice(["balanced", "even"]), "refine": r.choice(["true", "false"]),
                  "exchange_cost": r.choice(["true", "false"]), "threshold": r.choice([0, 1.1])}
    return name + ("" if not given else ":" + ",".join(f"{key}={value}" for key, value in given.items()))


def write_case(folder, seed, number, mode):
    """Writes the config of a case of one layer at one denoise step; returns its sections."""
    r = random.Random(f"spscope {seed} {number} {mode}")
    folder.mkdir(parents=True, exist_ok=True)
    scope = r.choices(["attention", "layer"], [3, 2])[0]
    kind, model = draw_model(r, scope, mode)
    evolving = r.random() < 0.45
    sections = {"model": model} | draw_mask(r, folder, kind, model, evolving)
    if mode == "execute" and scope == "attention" and kind != "spatial-temporal" and "batch" not in model and \
            "pattern" not in sections["mask"] and r.random() < 0.4:
        model["activations"] = draw_activations(r, folder, kind, model)
    sections["cluster"] = draw_cluster(r, folder, mode)
    run = {"mode": mode, "scope": scope, "dtype": r.choice(["bf16", "fp32"]),
           "repeats": 1, "warmup": 0, "seed": r.randint(0, 99), "verify": "full",
           "layers": 1, "denoise_steps": 1, "mask_lag": r.choice([0, 1])}
    if kind == "joint" and model["text_tokens"] > 0 and r.random() < 0.3:
        run["text"] = "replicate"
    sections["run"] = run
    run["strategies"] = [draw_strategy(r, sections["cluster"]["ranks"], model["heads"], scope)
                         for _ in range(r.randint(2, 4))]
    (folder / "run.toml").write_text(toml(sections), encoding="utf-8")
    return sections
