"""R4, R8 and R11: banned words and the places where each is allowed."""
import re

from tree import SOURCES, Finding, code_only, line_of, literals

RULES = {"R4": "SQL stays where stored runs are read and written", "R8": "banned words", "R11": "names say what a thing is"}
SQL = re.compile(r"\b(SELECT|INSERT|CREATE)\b")
SQL_PLACES = ("schemas/", "backend/store/", "backend/exchange/", "backend/analysis/", "tests/", "bench/")
CATCH_PLACES = ("backend/base/result.h", "backend/cli/main.cpp", "backend/cli/parse_command_line.cpp", "backend/execute/")

# Pattern in code, folders or files where it is allowed, what to do instead.
BANNED = [
    (r"\busing\s+namespace\s+(?!std::(?:string_view_|chrono_)?literals\b)", (), "name what you use"),
    (r"\bv?s?n?printf\s*\(", ("backend/cli/", "tests/", "bench/"), "use fmt"),
    (r"\bstd::endl\b", (), r"write '\n'"),
    (r"\bcatch\s*\(", CATCH_PLACES + ("tests/", "bench/"), "errors are caught in main, rank mains and capture"),
    (r"\bs?rand\s*\(", (), "use spscope::Rng"),
    (r"(?<![\w:.>])(?:std::)?(?:_|quick_)?[eE]xit\s*\(", ("backend/cli/main.cpp",), "throw Error"),
    (r"\bgetenv\s*\(", ("backend/config/", "collectors/", "tests/"), "read settings in backend/config"),
    (r"(?<!operator)\bnew\s+[A-Za-z_:]", (), "use a container or make_unique"),
]
TYPE_NAME = re.compile(r"\b(?:class|struct)\s+(\w*(?:Manager|Helper|Util|Impl(?!ement))\w*)")
UNITLESS = re.compile(r"\bint64_t\s+(\w*(?:time|size)\w*)\s*[;={]")
UNITS = re.compile(r"_(?:ns|us|ms|s|bytes|tokens|flops|gbps)_?$")
TASK_WORD = re.compile("\\bTO" + "DO\\b(?!\\s*\\(?#\\d)")


def check(tree):
    for path in tree.with_suffix(*SOURCES):
        text = tree.text(path)
        code = code_only(text)
        for offset, literal in literals(text):
            if SQL.search(literal) and not path.startswith(SQL_PLACES):
                yield Finding("R4", path, line_of(text, offset), "SQL belongs to schemas, backend/store, backend/exchange or backend/analysis")
        for pattern, places, instead in BANNED:
            for match in re.finditer(pattern, code):
                if not path.startswith(places or ("\0",)):
                    yield Finding("R8", path, line_of(text, match.start()), f'"{match.group().strip()}": {instead}')
        for match in TYPE_NAME.finditer(code):
            yield Finding("R11", path, line_of(text, match.start()), f"{match.group(1)}: say what it is")
        for match in UNITLESS.finditer(code):
            if not UNITS.search(match.group(1)):
                yield Finding("R11", path, line_of(text, match.start()), f"{match.group(1)}: the unit is part of the name")
    for path in tree.paths:
        for match in TASK_WORD.finditer(tree.text(path)):
            yield Finding("R8", path, line_of(tree.text(path), match.start()), "an open task names its issue")
