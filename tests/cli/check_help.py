"""check_help.py PROGRAM FOLDER: FOLDER/<command>.md names only flags that `PROGRAM <command> --help` declares.

An example line, `spscope mask info FILE --block 64`, is held to the command that it calls; other text to the command
of the file, with its subcommands.
"""
import re
import subprocess
import sys
from pathlib import Path

FLAG = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


def declared(program, words):
    """Flags and subcommands of a command, from its help without the text that follows the options."""
    text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    options, _, commands = text.partition("Subcommands:\n")
    names = re.findall(r"^  (\S+) ", commands, re.MULTILINE)
    lines = options[options.index("Options:"):].splitlines()[1:] if "Options:" in options else []
    flags = [flag for line in lines if line.startswith("  -") for flag in FLAG.findall(line[:28])]
    return set(flags), names


def words_of(command, example):
    """("mask", "info") of `spscope mask info ...`"""
    words = example.split()[1:3]
    return words[:2] if command == words[0] == "mask" else words[:1]


def check(program, path):
    command, text = path.stem, path.read_text(encoding="utf-8")
    flags, subcommands = declared(program, [command])
    for name in subcommands:
        flags |= declared(program, [command, name])[0]
    for line in text.splitlines():
        example = line.strip().startswith("spscope ")
        known = declared(program, words_of(command, line))[0] if example else flags
        # What another program gets is its own.
        for flag in FLAG.findall(line.partition("|")[0].partition(" -- ")[0]):
            if flag not in known:
                yield f"{path.name}: {flag} in: {line.strip()}"


def main(program, folder):
    paths = sorted(Path(folder).glob("*.md"))
    faults = [fault for path in paths for fault in check(program, path)]
    print("\n".join(faults) or f"{len(paths)} help texts name only flags that exist")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
