"""Cells of models x clusters x masks x engines: each is answered on 30 lines, its first sentence is complete, and an engine's
command has that engine's flags alone. bench/advise-times measures how long answers take.
Usage: advise_cells.py PROGRAM SOURCE WIDE (0: a few of the 23)."""
import itertools
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODELS = ("wan2.1-t2v-1.3b", "wan2.1-t2v-14b", "hunyuanvideo", "cogvideox1.5-5b", "flux.1-dev")
CLUSTERS = (["h100x8"], ["4090x8", "--ranks", "4"], ["a100x8", "--ranks", "2"], ["ndr-h100-x2"])
NO_PLACE = "As far as docs/engines.md knows, this does not fit in "
FIRST = re.compile(NO_PLACE + r"[^:]*: [^.]*\. .*[tT]he fastest, if it fitted, is [a-z_]+|"
                   r"(Use|Hosts with PCIe differ\. On a usual one use) [a-z_]+[^:]*: [0-9.,]+ (s|ms) end to end with "
                   r"(OWN and \w+\.|torch\.compile and \w+(, and [0-9.,]+ (s|ms)|\. It (cannot run|does not fit)) with OWN( and \w+)?\.)"
                   .replace("OWN", "the model's own uncompiled code"))


def engines_of(source):
    """What is typed for the features of each engine, by its id."""
    flags, engine = {}, None
    for row in re.finditer(r'^(ENGINE|FEATURE|KERNEL)\((?:\w+, )?"([^"]+)"', (source / "backend/config/engines.def").read_text(), re.M):
        if row[1] == "ENGINE":
            engine = flags.setdefault(row[2], [])
        else:
            engine.append(row[2])
    return flags


def words_of(flag):
    return [word for word in re.split(r"[\s=]", flag) if word and word != "{}"]


def check(program, arguments, engine, flags):
    done = subprocess.run([program, "advise", *arguments], capture_output=True, text=True, check=False)
    answer = done.stdout
    assert done.returncode == (2 if answer.startswith(NO_PLACE[:30]) else 0), (answer, done.stderr)
    text = " ".join(answer.split())
    assert answer.count("\n") <= 30, answer
    assert FIRST.match(text), answer
    assert "published run" in text, answer
    if engine is None:
        assert "runs in" in text or "--what-if" in arguments, text
        return
    assert "ndr-h100-x2" not in arguments or not re.search(r"(num-gpus |nproc.per.node[= ])16", text), text
    command = re.search(r"(?:In [A-Za-z0-9.\-]+(?:, on each node)?: |on 2 nodes\. Its flags are )(.*?)\.? (?=Without|Half of|No published|Whole|This |A layer|The |Gather|Each |For |Another |wan|hunyuan|cog|flux)", text)[1]
    typed = set(re.findall(r"(?<=[ (])--?[a-z][\w-]*|\w+(?==[0-9T])", command))
    assert not {"sparge_attn", "video_sparse_attn"} & set(command.split()), "dense attention"
    own = {word for flag in flags[engine] for word in words_of(flag)}
    launch = {"--model-path", "--num-gpus", "--model", "--nproc_per_node", "--nproc-per-node", "--omni", "nproc_per_node", "--nnodes",
              "--rdzv-backend", "--rdzv-endpoint"}
    assert typed and typed <= own | launch, (typed - own - launch, command)


def main(program, source, wide):
    flags = engines_of(source)
    assert len(flags) == 5 and all(flags.values()), flags
    # The first is Wan2.1's own, which runs no other model.
    names, cells = itertools.cycle(reversed(flags)), []
    for (m, model), (c, cluster) in itertools.product(enumerate(MODELS), enumerate(CLUSTERS)):
        # One question a pair: each kind is asked of each model and of each cluster.
        kind = (m + c) % 3
        of = next(name for name in names if name != "wan" or model.startswith("wan2.1")) if kind == 2 else None
        more = ([], ["--density", "0.4", "--seeds", "1"], ["--engine", of])[kind]
        cells.append((["--model", model, "--cluster", *cluster, *more], of))
    assert len(cells) == 20 and {of for _, of in cells} == {None, *flags}, cells
    cells = [(["--model", model, "--cluster", *cluster, "--what-if", what], None) for model, cluster, what in
             (("wan2.1-t2v-1.3b", CLUSTERS[0], "link=0.5"), ("flux.1-dev", CLUSTERS[1], "kernel=2"),
              ("wan2.1-t2v-1.3b", CLUSTERS[3], "nic=0.5,latency=2"))] + cells
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda cell: check(program, *cell, flags), cells if wide else cells[:7]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "1")
