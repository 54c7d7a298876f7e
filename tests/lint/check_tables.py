"""R6: a row in a `.def` table for each plug-in file and a file for each row; the docs have each strategy and error code; each
planted fault has a place."""
import re

from tree import Finding, line_of

RULES = {"R6": "tables and files agree"}
# Table, macro, file of a row. `{}` is the row's name with `-` as `_`, `*` any one folder: several may have the file.
TABLES = [
    ("backend/strategies/strategies.def", "STRATEGY", "backend/strategies/{}.cpp"),
    ("backend/mask/patterns.def", "PATTERN", "backend/mask/pattern_{}.cpp"),
    ("backend/mask/mask_importers.def", "MASK_IMPORTER", "backend/mask/import_{}.cpp"),
    ("backend/exchange/formats.def", "EXPORT_FORMAT", "backend/exchange/export_{}.cpp"),
    ("backend/report/sections.def", "SECTION", "backend/report/section_{}.cpp"),
    ("backend/cli/commands.def", "COMMAND", "backend/cli/cmd_{}.cpp"),
    ("backend/cli/commands.def", "COMMAND", "backend/cli/help/{}.md"),
    ("backend/execute/executors.def", "EXECUTOR", "backend/execute/*/{}_executor.cpp"),
]
# In a folder whose files have no prefix, a plug-in is known by the function it defines.
STRATEGY_FUNCTION = re.compile(r"^void plan_(\w+)\(PlanBuilder&[^{;]*const Decision&", re.MULTILINE)
STRATEGIES, PAGES, PICTURE = "backend/strategies/strategies.def", "docs/strategies.md", "images/strategies/{}.svg"
COMMANDS, KEYS = "gui/app/commands.def", "docs/gui.md"
FAULTS = "bench/faults/faults.tsv"
CODES, EXPLANATIONS = "backend/base/error_codes.def", "docs/troubleshooting.md"


def names_in(text, macro):
    return {m.group(1): line_of(text, m.start()) for m in re.finditer(rf"^{macro}\(\s*(\w+)", text, re.MULTILINE)}


def files_of(tree, pattern):
    """Names for which a file of this pattern exists; a pattern without prefix asks the text."""
    folder, _, form = pattern.rpartition("/")
    prefix, suffix = form.split("{}")
    shape = re.compile(re.escape(pattern).replace(r"\*", "[^/]+").replace(r"\{\}", r"([^/]+)"))
    found = {path: m.group(1) for path in tree.with_suffix(suffix) if (m := shape.fullmatch(path))}
    if prefix or suffix != ".cpp":
        return {name: path for path, name in found.items()}
    return {name: path for path in found for name in STRATEGY_FUNCTION.findall(tree.text(path))}


def check(tree):
    for table, macro, pattern in TABLES:
        if not tree.exists(table):
            continue
        named, files = names_in(tree.text(table), macro), files_of(tree, pattern)
        for name in sorted(set(named) - set(files)):
            yield Finding("R6", table, named[name], f"row {name} has no {pattern.format(name)}")
        for name in sorted(set(files) - set(named)):
            yield Finding("R6", files[name], 1, f"{name} has no row in {table}")
    yield from check_strategy_pages(tree)
    yield from check_error_codes(tree)
    yield from check_keys(tree)
    yield from check_faults(tree)


def check_strategy_pages(tree):
    """docs/strategies.md has a section with a picture for each row."""
    if not tree.exists(STRATEGIES):
        return
    sections = re.split(r"^## (\w+)$", tree.text(PAGES), flags=re.MULTILINE) if tree.exists(PAGES) else [""]
    shown = dict(zip(sections[1::2], sections[2::2]))
    for name in names_in(tree.text(STRATEGIES), "STRATEGY"):
        if f"]({PICTURE.format(name)})" not in shown.get(name, ""):
            yield Finding("R6", PAGES, 1, f'no section "## {name}" with {PICTURE.format(name)}')


def check_error_codes(tree):
    """docs/troubleshooting.md has one heading `## SPS-012: summary` for each row, in the same order."""
    text = tree.text(CODES)
    wanted = [f"SPS-{int(number):03}: {summary}"
              for number, summary in re.findall(r'^ERROR_CODE\(\s*(\d+),\s*\w+,\s*"([^"]*)"', text, re.MULTILINE)]
    explained = re.findall(r"^## (SPS-.*)$", tree.text(EXPLANATIONS), re.MULTILINE) if tree.exists(EXPLANATIONS) else []
    for heading in wanted:
        if heading not in explained:
            yield Finding("R6", EXPLANATIONS, 1, f'no heading "## {heading}"')
    for heading in explained:
        if heading not in wanted:
            yield Finding("R6", EXPLANATIONS, 1, f'heading "{heading}" is no row of {CODES}')
    if sorted(explained) != explained:
        yield Finding("R6", EXPLANATIONS, 1, "headings are not in ascending order")


def check_keys(tree):
    """docs/gui.md has each command of the window with its keys."""
    if not tree.exists(COMMANDS):
        return
    shown = tree.text(KEYS).splitlines() if tree.exists(KEYS) else []
    commands = re.findall(r'^COMMAND\((\w+), \w+, "([^"]*)", "([^"]*)"\)', tree.text(COMMANDS), re.MULTILINE)
    wanted = [f"| {title} | {' or '.join(f'`{key}`' for key in keys.split())} | `{name}` |" for name, title, keys in commands]
    for row in wanted:
        if row not in shown:
            yield Finding("R6", KEYS, 1, f'no row "{row}"')
    for line, row in enumerate(shown, 1):
        if re.fullmatch(r"\|.*\| `k[A-Z]\w*` \|", row) and row not in wanted:
            yield Finding("R6", KEYS, line, f"no such row in {COMMANDS}")


def check_faults(tree):
    """The text that a planted fault replaces is in its file once."""
    for line, row in enumerate(tree.text(FAULTS).splitlines() if tree.exists(FAULTS) else [], 1):
        path, right = (row.split("\t") + [""] * 7)[2:7:4]
        if line > 1 and not (tree.exists(path) and tree.text(path).count(right) == 1):
            yield Finding("R6", FAULTS, line, f"{path} does not have once: {right}")
