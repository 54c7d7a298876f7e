"""check_library.py LIBRARY: the injection library can be loaded by any program on a Linux with glibc 2.34, and keeps to
itself: it needs libc alone, asks for no newer symbol, exports only its entry points, and is below 1 MB."""
import re
import subprocess
import sys
from pathlib import Path

ENTRY_POINTS = {"InitializeInjection", "InitializeInjectionNvtx2", *(f"ncclProfiler_v{version}" for version in (3, 4, 5, 6))}
NEWEST_GLIBC = (2, 34)
MOST_BYTES = 1_000_000
# Of the loader, which maps libc itself.
OF_LOADER = {"__tls_get_addr"}
FORBIDDEN = re.compile(r"sqlite|^(signal|sigaction|bsd_signal|sysv_signal|sigset)$")


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(library):
    dynamic = said_by("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed == ["libc.so.6"], f"it needs {needed}"
    assert "NODELETE" in dynamic, "NCCL would unmap it while its threads run"

    exported, asked, unversioned = set(), set(), set()
    for line in said_by("nm", "-D", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if kind not in "Uwv":
            exported.add(name)
        elif version:
            asked.add((tuple(int(n) for n in re.findall(r"\d+", version)[:2]), name))
        elif kind == "U":
            unversioned.add(name)
    assert exported == ENTRY_POINTS, f"it exports {sorted(exported)}"
    assert unversioned <= OF_LOADER, f"nothing that it needs has {sorted(unversioned - OF_LOADER)}"
    newer = [name for version, name in asked if version > NEWEST_GLIBC]
    assert not newer, f"glibc 2.34 has no {newer}"
    assert len(asked) > 10, "nm was not understood"
    forbidden = [name for _, name in asked if FORBIDDEN.search(name)]
    assert not forbidden, f"it calls {forbidden}"

    size = Path(library).stat().st_size
    assert size < MOST_BYTES, f"it has {size} bytes"
    print(f"{size} bytes, {len(asked)} symbols up to glibc {'.'.join(map(str, max(asked)[0]))}")


if __name__ == "__main__":
    main(sys.argv[1])
