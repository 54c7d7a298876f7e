"""The compiled kernels of each architecture: all there, in registers alone, and on tensor cores.

  check_image.py registers|instructions KERNELS.DEF CUOBJDUMP CUBIN...

`registers` reads what ptxas said of each kernel (CUBIN.log): no stack frame, no spills. `instructions` reads the code
itself: no access to local memory, which is where spills and indexed arrays go; the attention kernels of tensor cores use
HMMA, LDSM (ldmatrix) and LDGSTS (cp.async). It prints how long their code goes without HMMA, the branch for a short tile
included, beside the kernels of FlashAttention-2 in the cubin or library that FLASH_ATTENTION names. It is skipped where there
is no disassembler.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

COMPILED = re.compile(r"Compiling entry function '(\w+)' for 'sm_\w+'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                      r"(\d+) bytes spill loads.*?Used (\d+) registers", re.DOTALL)
FUNCTION = re.compile(r"^\s*Function : (\w+)$", re.MULTILINE)
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)


def kernels_of(table):
    """(all names, those of attention on tensor cores) of kernels.def."""
    text = Path(table).read_text("utf-8")
    cores = {f"spscope_attend_mma_{rows}x{dim}" for rows, dim in
             re.findall(r"^SPSCOPE_ATTEND_MMA\((\d+), (\d+),", text, re.MULTILINE)}
    return cores | set(re.findall(r"^SPSCOPE_KERNEL\((\w+),", text, re.MULTILINE)), cores


def check_registers(cubin, names):
    log = Path(cubin + ".log").read_text("utf-8")
    found = {name: tuple(map(int, numbers)) for name, *numbers in COMPILED.findall(log)}
    for name in sorted(names - found.keys()):
        yield f"{name} was not compiled"
    for name, (frame, stores, loads, registers) in sorted(found.items()):
        print(f"{Path(cubin).name}: {name}: {registers} registers")
        if frame or stores or loads:
            yield f"{name}: a stack frame of {frame} bytes, spills of {stores} and {loads} bytes"


def instructions_of(cuobjdump, cubin):
    """Function -> list of the names of its instructions."""
    paths = os.path.dirname(cuobjdump) + os.pathsep + os.environ.get("PATH", "")  # where nvdisasm is
    text = subprocess.run([cuobjdump, "-sass", cubin], capture_output=True, text=True, check=True,
                          env={**os.environ, "PATH": paths}).stdout
    parts = FUNCTION.split(text)
    return {name: INSTRUCTION.findall(code) for name, code in zip(parts[1::2], parts[2::2])}


def tensor_text(instructions):
    at = [i for i, word in enumerate(instructions) if word == "HMMA"]
    longest = max((after - before - 1 for before, after in zip(at, at[1:])), default=0)
    counts = {word: instructions.count(word) for word in ("HMMA", "LDSM", "LDGSTS", "LDL", "STL")}
    return f"{len(instructions)} instructions, {counts}, {longest} in a row without HMMA between two of them"


def check_instructions(cuobjdump, cubin, names, cores):
    code = instructions_of(cuobjdump, cubin)
    for name in sorted(names - code.keys()):
        yield f"{name} has no code"
    for name, instructions in sorted(code.items()):
        for local in sorted({"LDL", "STL"} & set(instructions)):
            yield f"{name} accesses local memory ({local})"
        if name in cores:
            print(f"{Path(cubin).name}: {name}: {tensor_text(instructions)}")
            for word in sorted({"HMMA", "LDSM", "LDGSTS"} - set(instructions)):
                yield f"{name} has no {word}"


def main(part, table, cuobjdump, *cubins):
    names, cores = kernels_of(table)
    if part == "instructions" and not os.access(cuobjdump, os.X_OK):
        print("skipped: there is no cuobjdump (PyPI: nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm; scripts/setup cuda)")
        return 77
    wrong = 0
    if part == "instructions" and (peer := os.environ.get("FLASH_ATTENTION")):
        for name, instructions in sorted(instructions_of(cuobjdump, peer).items()):
            if "flash_fwd" in name:
                print(f"{Path(peer).name}: {name}: {tensor_text(instructions)}")
    for cubin in cubins:
        problems = (check_registers(cubin, names) if part == "registers"
                    else check_instructions(cuobjdump, cubin, names, cores))
        for problem in problems:
            print(f"{Path(cubin).name}: {problem}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
