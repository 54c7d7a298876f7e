"""What a random config has that few others have, and a choice of cases in which each of these kinds occurs."""
import tempfile
from pathlib import Path

import configs
import masks
import rules

STRATEGIES = ["single", "ulysses", "ring", "usp", "dbsp", "cyclic", "snake", "allgather_kv", "dsp", "megatron_sp", "megatron_tp"]
KINDS = {
    "mask of 3 dimensions", "mask of 4 dimensions", "mask of 5 dimensions", "borders in the file", "borders beside the file",
    "borders by mask.block", "coarse rows or columns", "mask of a frame", "text first", "text last", "replicated text first",
    "replicated text last", "lag with a file", "lag with a pattern", "bf16 activations", "fp32 activations",
    "narrow layer in bf16", "one head on several ranks under megatron_tp",
    *(f"layer of {model}" for model in configs.FULL_3D + configs.JOINT + configs.SPATIAL_TEMPORAL),
    *(f"strategy {name}" for name in STRATEGIES),
}


def of_mask_file(folder, sections):
    model, path = sections["model"], folder / sections["mask"]["file"]
    bits, starts = masks.read_arrays(path)
    yield f"mask of {bits.ndim} dimensions"
    yield "borders by mask.block" if starts is None else \
        "borders in the file" if path.suffix == ".npz" else "borders beside the file"
    if bits.shape[-1] != bits.shape[-2]:
        yield "coarse rows or columns"
    if model["preset"] in configs.SPATIAL_TEMPORAL:
        yield "mask of a frame"
    if model["preset"] in configs.JOINT and model["text_tokens"]:
        order = "text first" if model["preset"] in rules.TEXT_FIRST else "text last"
        yield "replicated " + order if "text" in sections["run"] else order


def kinds(folder, sections, mode):
    model, mask, run = sections["model"], sections["mask"], sections["run"]
    if "file" in mask:
        yield from of_mask_file(folder, sections)
    changes = masks.changes(folder / mask["file"]) if "file" in mask else mask["pattern"] in configs.EVOLVE
    if changes and run["mask_lag"] and mode == "simulate":
        yield "lag with a file" if "file" in mask else "lag with a pattern"
    if "activations" in model:
        yield run["dtype"] + " activations"
    if run["scope"] == "layer" and mode == "execute":
        yield "layer of " + model["preset"]
        if run["dtype"] == "bf16" and model["heads"] * model["head_dim"] < 64:
            yield "narrow layer in bf16"
    names = {strategy.split(":")[0] for strategy in run["strategies"]}
    yield from (f"strategy {name}" for name in names)
    if "megatron_tp" in names and model["heads"] == 1 and sections["cluster"]["ranks"] > 1:
        yield "one head on several ranks under megatron_tp"


def covering(seed, cases, mode_of):
    """Numbers of that many cases of a seed, so chosen that each kind occurs; and the kinds that do not."""
    drawn = {}
    for number in range(8 * cases):
        with tempfile.TemporaryDirectory() as folder:
            sections = configs.write_case(Path(folder), seed, number, mode_of(number), one_pass=True)
            drawn[number] = set(kinds(Path(folder), sections, mode_of(number)))
    chosen, missing = [], set(KINDS)
    while len(chosen) < cases:
        best = max((n for n in drawn if n not in chosen), key=lambda n: (len(drawn[n] & missing), -n))
        chosen.append(best)
        missing -= drawn[best]
    return sorted(chosen), missing
