"""Links and paths that text cites lead somewhere, and no text names a folder of one person's machine."""
import re

from tree import SOURCES, Finding, comments, line_of

RULES = {"links": "links and cited paths exist", "paths": "no paths of one machine",
         "versions": "what is said of other programs names a version, a paper or a page"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
CITED = re.compile(r"(?<![\w./<-])(?:backend|kernels|collectors|schemas|tests|samples|bench|scripts|docs|cmake)(?:/[\w.-]+)+(?![\w/<*{-])")
# A source file by a shorter name, as docs cite it: `job/job.cpp`, `plan.h`.
SHORT = re.compile(r"(?<![\w./<>*-])(?:[\w-]+/)*[a-z][\w-]*\.(?:cpp|h|def|inc|sql)(?![\w/])")
MACHINE = re.compile(r"(?<![\w.])/(?:work|farm|root|home/\w+|Users)/")
HASH = r"(?:^|(?<=\s\s))#[^\n]*"
COMMENT_MARKS = {".py": HASH + r'|^\s*"""(?s:.*?)"""', ".sh": HASH, ".cmake": HASH, ".txt": HASH, ".toml": HASH,
                 ".def": r"//[^\n]*", ".sql": r"--[^\n]*"}
BENCH = re.compile(r"build/bin/(\w+_bench)\b")
# What a section of a strategy says of other programs, and a row of the table of their versions: | name | owner/name | version |
ELSEWHERE = re.compile(r"^(?:\* )?\*\*Elsewhere\.?\*\*.*?(?=\n\n\*\*|\n\* \*\*|\Z)", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"\]\(#versions-of-other-programs\)|\]\(https://|arXiv \d")
VERSION_ROW = re.compile(r"^\| [^|]+ \| [\w.-]+/[\w.-]+ \| ([^|]+) \|$", re.MULTILINE)
LINE_NUMBER = re.compile(r"\b[\w/]+\.(?:cpp|h|py):\d+\b")


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def check_links(tree, path):
    text = tree.text(path)
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        folder = path.rpartition("/")[0]
        file = (tree.root / folder / target).resolve() if target else tree.root / path
        line = line_of(text, match.start())
        if not file.exists():
            yield Finding("links", path, line, f"link to {target}, which does not exist")
        elif anchor and anchor not in {slug(h) for h in re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)}:
            yield Finding("links", path, line, f"link to #{anchor}, which is no heading of {file.name}")


def check_short_names(tree, path):
    text = tree.text(path)
    for match in SHORT.finditer(text):
        if not any(known == match.group() or known.endswith("/" + match.group()) for known in tree.paths):
            yield Finding("links", path, line_of(text, match.start()), f"cites {match.group()}, which does not exist")


def prose(tree, path):
    """(offset, text) of the parts of a file that are meant for people and may cite files."""
    text = tree.text(path)
    if path.endswith(SOURCES):
        return comments(text)
    marks = [mark for suffix, mark in COMMENT_MARKS.items() if path.endswith(suffix)]
    return [(m.start(), m.group()) for m in re.finditer(marks[0], text, re.MULTILINE)] if marks else [(0, text)]


def check_benches(tree, path):
    text = tree.text(path)
    for match in BENCH.finditer(text):
        if not any(other.endswith(f"/{match.group(1)}.cpp") for other in tree.with_suffix(".cpp", under="bench/")):
            yield Finding("links", path, line_of(text, match.start()), f"names {match.group()}, which nothing builds")


def check_versions(tree, path):
    text = tree.text(path)
    for match in ELSEWHERE.finditer(text):
        if not SOURCE.search(match.group()):
            yield Finding("versions", path, line_of(text, match.start()), "an Elsewhere without a version or a source")
    for match in VERSION_ROW.finditer(text):
        if not re.search(r"\b20\d\d\b", match.group(1)):
            yield Finding("versions", path, line_of(text, match.start()), "a version without a date")


def check(tree):
    for path in tree.with_suffix(".md"):
        yield from check_links(tree, path)
        yield from check_short_names(tree, path)
        yield from check_benches(tree, path)
        yield from check_versions(tree, path)
    for path in tree.with_suffix(*SOURCES, ".md", ".py", ".sh", ".cmake", ".txt", ".def", ".toml", ".sql"):
        for start, text in prose(tree, path):
            for match in CITED.finditer(text):
                cited = match.group().rstrip(".")
                if not tree.exists(cited):
                    line = line_of(tree.text(path), start + match.start())
                    yield Finding("links", path, line, f"cites {cited}, which does not exist")
            for match in LINE_NUMBER.finditer(text):
                yield Finding("links", path, line_of(tree.text(path), start + match.start()), "cites a line number")
    for path in tree.paths:
        for match in MACHINE.finditer(tree.text(path)):
            yield Finding("paths", path, line_of(tree.text(path), match.start()), f"names {match.group()}")
