"""check_help.py PROGRAM FOLDER: FOLDER/<command>.md names only flags that `PROGRAM <command> --help` declares. An example line,
`spscope mask info FILE --block 64`, is held to the command that it calls, other text to that of the file and its subcommands."""
import functools
import re
import subprocess
import sys
from pathlib import Path

FLAG = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


@functools.cache
def declared(*words):
    """Flags of a command and its subcommands, from its help without the text that follows the options."""
    text = subprocess.run([sys.argv[1], *words, "--help"], capture_output=True, text=True, check=True).stdout
    options, _, commands = text.partition("Subcommands:\n")
    flags = {flag for line in options.partition("Options:")[2].splitlines() if line.startswith("  -") for flag in FLAG.findall(line[:28])}
    subcommands = re.findall(r"^  (\S+) ", commands, re.MULTILINE) if len(words) == 1 else []
    return flags.union(*(declared(*words, name) for name in subcommands))


faults, paths = [], sorted(Path(sys.argv[2]).glob("*.md"))
for path in paths:
    for line in path.read_text(encoding="utf-8").splitlines():
        called = line.split()[1:3] if line.strip().startswith("spscope ") else [path.stem]
        known = declared(*(called if called[0] == "mask" else called[:1]))
        # What another program gets is its own.
        faults += [f"{path.name}: {flag} in: {line.strip()}" for flag in FLAG.findall(line.partition("|")[0].partition(" -- ")[0]) if flag not in known]
print("\n".join(faults))
sys.exit(1 if faults or not paths else 0)
