"""How often a predicted lead was right, and how far predicted times were off, from published times alone.

Usage: published_errors.py SOURCE_DIR [--write]   compares backend/analysis/published_errors.def with them, or writes it

A prediction is that of a fit that has not seen the row's source: the times unseen of the runs that fit_bench writes.
Two rows are a pair when they differ in their strategy only; pairs that took equally long decide nothing.
"""
import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

TABLE = "backend/analysis/published_errors.def"
PAGE, DOC = "bench/measured/accuracy.md", "docs/accuracy.md"
SERIES = ("source", "gpu", "interconnect", "model", "resolution", "frames", "software", "implementation", "gpus",
          "cfg_parallel")
BANDS = (0, 0.02, 0.05, 0.10, 0.20, 10)  # of leads
GROUPS = ((1, 1), (2, 2), (3, 4), (5, 1024))  # of numbers of GPUs
HEAD = """// Of published times, as fits predict them that have not seen their source: tests/docs/published_errors.py writes this.
//   LEAD(kind, gpus, most_gpus, from, below, right, pairs)   of pairs of strategies with a predicted lead in this band
//   RUNS(kind, gpus, most_gpus, median, runs)                how far off half of the runs are at most, by docs/accuracy.md
"""


def predicted(source):
    """Measured and predicted seconds by row id."""
    cells = re.findall(r"(E\d+) [^:|]*: ([^;]+); [^;]+; ([^,]+),", (source / PAGE).read_text("utf-8"))
    if not cells:
        raise SystemExit(f"{PAGE} has no rows of fit_bench")
    return {row: (float(measured), float(unseen)) for row, measured, unseen in cells}


def kind_of(row):
    return "Nvlink" if row["interconnect"] in ("", "-") or row["interconnect"].startswith("NVLink") else "Pcie"


def group_of(row):
    return next((least, most) for least, most in GROUPS if least <= int(row["gpus"]) <= most)


def table_of(source):
    with open(source / "bench/measured/end_to_end.csv", newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    times = predicted(source)
    leads = defaultdict(lambda: [0, 0])
    ids = list(times)
    for at, one in enumerate(ids):
        measured, unseen = times[one]
        for other in ids[at + 1:]:
            if any(rows[one][key] != rows[other][key] for key in SERIES) or measured == times[other][0]:
                continue
            ratio = unseen / times[other][1]
            band = max(b for b in BANDS if b <= max(ratio, 1 / ratio) - 1)
            counts = leads[kind_of(rows[one]), group_of(rows[one]), band]
            counts[0] += (ratio > 1) == (measured > times[other][0])
            counts[1] += 1
    lines = []
    for (kind, (least, most), band), (right, pairs) in sorted(leads.items()):
        below = BANDS[BANDS.index(band) + 1]
        lines.append(f"LEAD({kind}, {least}, {most}, {band:.2f}, {below:.2f}, {right}, {pairs})")
    # The page has the medians of numbers that are not rounded.
    cells = re.findall(r"^\| (NVLink|PCIe) \| (\d+)[^|]* \| (\d+) \| ([\d.]+) % \|", (source / DOC).read_text("utf-8"), re.M)
    for link, least, runs, median in sorted(cells):
        lines.append(f"RUNS({link.capitalize()}, {least}, {dict(GROUPS)[int(least)]}, {float(median) / 100:.3f}, {runs})")
    return HEAD + "\n".join(lines) + "\n"


def main(source, write):
    wanted, path = table_of(source), source / TABLE
    if write:
        path.write_text(wanted, "utf-8")
    elif path.read_text("utf-8") != wanted:
        raise SystemExit(f"{TABLE} is not what the published times say: python3 tests/docs/published_errors.py . --write")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--write" in sys.argv[2:])
