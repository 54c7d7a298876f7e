"""R5: files of at most 600 lines, headers of at most 200, functions of at most 80, a README of at most 120, and pages of docs of
at most 4,000 together; R7: `#pragma once` comes first."""
import re

from tree import SOURCES, Finding, code_only, line_of

RULES = {"R5": "files, headers and functions stay small", "R7": "headers start with #pragma once"}
FILE_LINES, HEADER_LINES, FUNCTION_LINES = 600, 200, 80
README_LINES, DOCS_LINES = 120, 4000
# Programs write their rows, and nobody reads them from end to end: they do not count.
WRITTEN_TABLES = ("docs/accuracy.md", "docs/engines.md", "docs/reproductions.md")
CONTAINER = re.compile(r"\b(namespace|class|struct|enum|union|extern)\b")


def functions(code):
    """(offset, lines) of each outermost function body of code without comments and literals.

    A brace opens a function when the text since the last `;`, `{` or `}` has a parameter list and names no container;
    what a function holds, lambdas and local types, counts as its own.
    """
    depth, open_function, start, head = 0, None, 0, 0
    for match in re.finditer(r"[{};]", code):
        at, char = match.start(), match.group()
        if char == "{":
            text = code[head:at]
            if open_function is None and "(" in text and not CONTAINER.search(text.split("(")[0]):
                open_function, start = depth, head + len(text) - len(text.lstrip())
            depth += 1
        elif char == "}":
            depth -= 1
            if open_function == depth:
                yield start, code.count("\n", start, at) + 1
                open_function = None
        head = at + 1


def check(tree):
    for pages, limit in (([path for path in tree.paths if path == "README.md"], README_LINES),
                         (tree.with_suffix(".md", under="docs/"), DOCS_LINES)):
        lines = {path: sum(path not in WRITTEN_TABLES or not line.startswith("|") for line in tree.text(path).splitlines())
                 for path in pages}
        if sum(lines.values()) > limit:
            longest = max(lines, key=lines.get)
            yield Finding("R5", longest, lines[longest], f"{sum(lines.values())} lines in all, at most {limit}")
    for path in tree.with_suffix(*SOURCES, ".py", ".sh", ".cmake"):
        text = tree.text(path)
        lines, limit = text.count("\n"), HEADER_LINES if path.endswith(".h") else FILE_LINES
        if lines > limit:
            yield Finding("R5", path, lines, f"{lines} lines, at most {limit}")
        if not path.endswith(SOURCES):
            continue
        code = code_only(text)
        for offset, length in functions(code):
            if length > FUNCTION_LINES:
                yield Finding("R5", path, line_of(text, offset), f"function of {length} lines, at most {FUNCTION_LINES}")
        if path.endswith(".h") and not code.lstrip().startswith("#pragma once"):
            yield Finding("R7", path, 1, "`#pragma once` is not the first line of code")
