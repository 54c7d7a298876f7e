"""R1 to R3: includes are root-relative, point in the directions of layers.txt, and libraries stay behind their fences."""
import re
from fnmatch import fnmatchcase

from tree import SOURCES, Finding, line_of, rows

RULES = {"R1": "includes are root-relative", "R2": "includes follow the layers", "R3": "libraries stay behind fences"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def read_table(text):
    """(layers: folder -> folders it may include, fences: header pattern -> paths)."""
    layers, fences = {}, {}
    for row in rows(text):
        head, _, allowed = row.partition(":")
        kind, name = head.split()
        if kind == "layer":
            layers[name] = allowed.split()
        else:
            fences[name.strip("<>")] = allowed.split()
    return layers, fences


def layer_of(path, layers):
    return max((folder for folder in layers if path.startswith(folder + "/")), key=len, default=None)


def inside(path, places):
    return any(fnmatchcase(path, place) or path.startswith(place + "/") for place in places)


def check(tree):
    layers, fences = read_table(tree.text("tests/lint/layers.txt"))
    for path in tree.with_suffix(*SOURCES):
        own = layer_of(path, layers)
        if own is None:
            yield Finding("R2", path, 1, "its folder is not a layer of tests/lint/layers.txt")
            continue
        for match in INCLUDE.finditer(tree.text(path)):
            quote, name = match.groups()
            line = line_of(tree.text(path), match.start())
            if quote == "<":
                for fence, places in fences.items():
                    if fnmatchcase(name, fence) and not inside(path, places):
                        yield Finding("R3", path, line, f"<{name}> may be included only in {' '.join(places)}")
            elif not tree.exists(name) or ".." in name:
                yield Finding("R1", path, line, f'"{name}" is not a path from the root; other libraries use <...>')
            else:
                other = layer_of(name, layers)
                if other != own and other not in layers[own] and "*" not in layers[own]:
                    yield Finding("R2", path, line, f"{own} may not include {name}")
