"""The table of docs/engines.md is backend/config/engines.def. Usage: engines.py SOURCE_DIR [--write]   compares or writes it"""
import re
import sys
from pathlib import Path

NAMES = {"Ulysses": "Ulysses", "Ring": "ring", "Gather": "gathering keys and values", "Tensor": "tensor parallel",
         "Guidance": "guidance passes at once", "UnevenHeads": "uneven heads", "Sharded": "sharded weights",
         "Sparge": "sparse attention, SpargeAttn", "Vsa": "sparse attention, VSA", "HeadBalance": "balanced heads, as `snake`",
         "TextEncoderOut": "text encoder in the host's memory", "VaeOut": "VAE there or in tiles", "Compiled": "torch.compile", "Eager": "no torch.compile"}
ROW = re.compile(r'^(ENGINE|FEATURE|KERNEL|MODELS)\(((?:[^"()]|"[^"]*")*)\)', re.MULTILINE | re.DOTALL)
BEGIN, END = "<!-- engines.def -->\n", "<!-- end -->\n"


def table_of(source):
    lines = ["| engine | what | typed there | read at |", "| --- | --- | --- | --- |"]
    for kind, fields in ROW.findall((source / "backend/config/engines.def").read_text("utf-8")):
        texts = ["".join(re.findall(r'"([^"]*)"', field)) for field in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', fields)]
        texts = [text.replace("{kernel}", "") for text in texts]
        if kind == "ENGINE":
            engine, title, _, launch, on_nodes, _, _, _, settings, _, repository = texts
            lines.append(f"| **{title}**, `--engine {engine}` | how it starts | `{launch}`{on_nodes and ', on several nodes `' + on_nodes + '`'} | |")
            if settings:
                lines.append(f"| | its code, for spscope | `{settings}` | |")
            continue
        feature = fields.split(",")[0].strip()
        if kind == "MODELS":
            lines[-1] = lines[-1].replace(NAMES[feature], NAMES[feature] + ", of " + ", ".join(f"`{name}*`" for name in texts[1:]), 1)
            continue
        if kind == "KERNEL":
            name, texts = "attention kernel " + ", ".join(f"`{kernel}`" for kernel in texts[2:]), ["", *texts]
        else:
            name = NAMES[feature]
        page = texts[2]
        address = page if page.startswith("https://") else repository + page
        typed = f"`{texts[1]}`" if texts[1] else "no flag: the first that is installed"
        lines.append(f"| | {name} | {typed} | [{page.rstrip('/').split('/')[-1]}]({address}) |")
    return "\n".join(lines) + "\n"


def main(source, write):
    page = source / "docs/engines.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    wanted = table_of(source)
    if write:
        page.write_text(before + BEGIN + wanted + END + after, "utf-8")
    elif old != wanted:
        raise SystemExit("docs/engines.md is not as engines.def: python3 tests/docs/engines.py . --write")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--write" in sys.argv[2:])
