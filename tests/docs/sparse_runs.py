"""How predictions compare with published runs of sparse attention on several GPUs.

Usage: sparse_runs.py SOURCE_DIR [--program build/bin/spscope --write]
Compares backend/analysis/sparse_records.def and the section of docs/accuracy.md with the rows of bench/measured/sparse.md, or
predicts every row of bench/measured/sparse.csv with the program (minutes) and writes all three.

A row is how many times as fast one strategy was as another. Where numbers of a cluster have a range, so has the prediction:
with all of them at their fast end, as they are, and at their slow end.
"""
import csv
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

ROWS, PAGE = "bench/measured/sparse.csv", "bench/measured/sparse.md"
TABLE, DOC = "backend/analysis/sparse_records.def", "docs/accuracy.md"
HEADING, NEXT = "\n## Sparse attention on several GPUs\n", "\n## Memory\n"
NEAR = 0.10
HEAD = """// Of published ratios between strategies on sparse masks over NVLink: tests/docs/sparse_runs.py writes this.
//   SPARSE(strategy, runs, near, held, published, predicted)   of `strategy` over ulysses: how many there are, how many are
//       predicted within 10 %, how many more the range of the prediction holds, and the means of what is published and predicted
"""
# One of a row of the page that has a prediction: as page_text writes it.
ENTRY = re.compile(r"(S\d+) (\S+): ([\d.]+); ([\d.]+)(?: \(([\d.]+) to ([\d.]+)\))?, ([^<|]*[^<| ])")


def run(program, row, strategies, gpus):
    """Results by strategy as it is asked for."""
    gpu = row["gpu"].split("/")[0].lower()
    settings = {"model.preset": row["model"].lower(), "mask.pattern": row["pattern"], "mask.density": row["density"],
                "cluster.preset": f"{gpu}x8", "cluster.ranks": gpus, "run.mode": "simulate", "run.layers": "spread:4",
                "run.scope": "layer" if row["scope"] == "e2e" else "attention"}
    if row["scope"] == "e2e":
        settings["run.implementation"] = "official"
    command = [program, "run", "--json"] + [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    command += [part for strategy in strategies for part in ("-s", strategy)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(zip(strategies, json.loads(done.stdout)["strategies"]))


def times(result, scope):
    """At the fast end, as it is, at the slow end."""
    if scope == "e2e":
        return (result["end_to_end_ns"],) * 3
    at = result["makespan_ns"]
    return result["makespan_low_ns"] or at, at, result["makespan_high_ns"] or at


def predictions(source, program):
    """Rows of the page."""
    known = {s["name"] for s in json.loads(subprocess.run([program, "list", "strategies", "--json"], check=True,
                                                          capture_output=True).stdout)["strategies"]}
    with open(source / ROWS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    runs = defaultdict(list)
    for row in rows:
        if not row["left_out"] and row["strategy"].split(":")[0] in known:
            runs[tuple(row[key] for key in ("gpu", "gpus", "model", "pattern", "density", "scope"))].append(row)
    page = {row["id"]: row | {"why": row["left_out"] or "spscope has no such strategy"} for row in rows}
    for of_run in runs.values():
        first, reference = of_run[0], of_run[0]["reference"]
        asked = list(dict.fromkeys(([] if reference == "single" else [reference]) + [r["strategy"] for r in of_run]))
        results = run(program, first, asked, first["gpus"])
        if reference == "single":
            results |= run(program, first, ["single"], "1")
        for row in of_run:
            ratios = [a / b for a, b in zip(times(results[reference], row["scope"]), times(results[row["strategy"]], row["scope"]))]
            page[row["id"]] |= {"why": "", "predicted": ratios[1], "low": min(ratios), "high": max(ratios)}
        print(*(f"{r['id']} {r['strategy']} {page[r['id']]['predicted']:.2f}" for r in of_run), flush=True)
    return list(page.values())


def verdict(published, predicted, low, high):
    if abs(predicted / published - 1) <= NEAR:
        return "within 10 %"
    return "in its range" if low <= published <= high else f"{predicted / published - 1:+.0%}"


def entry(row):
    said = f"{row['id']} {row['strategy']}: {float(row['times_as_fast']):.2f}"
    if row["why"]:
        return f"{said} ({row['why']})"
    at, low, high = (f"{row[key]:.2f}" for key in ("predicted", "low", "high"))
    held = f" ({low} to {high})" if low != high else ""
    return f"{said}; {at}{held}, {verdict(float(row['times_as_fast']), float(at), float(low), float(high))}"


def page_text(rows):
    """A row of the page has all strategies of a run."""
    lines = ["# Predictions of published runs on sparse masks", "",
             "The rows of [sparse.csv](sparse.csv), written by `python3 tests/docs/sparse_runs.py . --program build/bin/spscope "
             "--write`: how many times as fast", "one strategy is as another. Ratios of db-SP are read off its figure, to 0.02. Four "
             "layers of each model, by the built-in profiles.", "",
             "| machine | model | masks | over | strategy: published; predicted (its range), how near |",
             "| --- | --- | --- | --- | --- |"]
    runs = defaultdict(list)
    for row in rows:
        runs[row["source"], f"{row['gpus']} {row['gpu']}".strip(), row["model"], f"{row['pattern']} {row['density']}".strip(),
             row["reference"]].append(entry(row))
    source = ""
    for (of, *cells), entries in runs.items():
        if of != source:
            source = of
            lines.append(f"| **{source}** | | | | |")
        lines.append("| " + " | ".join([*cells, "<br>".join(entries)]) + " |")
    return "\n".join(lines) + "\n"


def read_page(text):
    """(source, strategy, published, predicted, low, high, verdict) of every run with a prediction."""
    source, rows = "", []
    for line in text.splitlines():
        if line.startswith("| **"):
            source = line.split("**")[1]
        for row, strategy, published, at, low, high, said in ENTRY.findall(line):
            numbers = float(published), float(at), float(low or at), float(high or at)
            if said != verdict(*numbers):
                raise SystemExit(f"{PAGE}: {row} says {said}")
            rows.append((source, strategy, *numbers, said))
    return rows


def groups_of(rows):
    groups = defaultdict(list)
    for row in rows:
        groups[row[0], row[1].split(":")[0]].append(row)
    return groups


def counts(rows):
    near, held = (sum(row[6] == verdict for row in rows) for verdict in ("within 10 %", "in its range"))
    published, predicted = (f"{sum(row[column] for row in rows) / len(rows):.2f}" for column in (2, 3))
    return len(rows), near, held, published, predicted


def section_text(rows):
    lines = [HEADING, "How many times as fast a strategy is as another, as published and as predicted.", 
             "[bench/measured/sparse.md](../bench/measured/sparse.md) has every row, and those that cannot be predicted;",
             "`tests/docs/sparse_runs.py` writes both. Rings are the widest: dense runs say that transfers slow the kernels beside them,",
             "db-SP's bars say that they hardly do, and the range of the prediction holds both.", "",
             "| source | strategy | rows | published, mean | predicted, mean | half of them are within | within 10 % | others in the range |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (source, strategy), group in groups_of(rows).items():
        runs, near, held, published, predicted = counts(group)
        errors = [abs(row[3] / row[2] - 1) for row in group]
        lines.append(f"| {source} | {strategy} | {runs} | {published} | {predicted} | {100 * median(errors):.1f} % | {near} | "
                     f"{held} |")
    return "\n".join(lines) + "\n"


def table_text(rows):
    lines = []
    for (source, strategy), group in groups_of(rows).items():
        if "db-SP" in source:
            lines.append("SPARSE({}, {}, {}, {}, {}, {})".format(strategy, *counts(group)))
    return HEAD + "\n".join(lines) + "\n"


def doc_text(source, rows):
    text = (source / DOC).read_text("utf-8")
    begin, end = text.find(HEADING), text.find(NEXT)
    return text[:begin if begin >= 0 else end] + section_text(rows) + text[end:]


def main():
    source, flags = Path(sys.argv[1]), sys.argv[2:]
    if "--write" in flags:
        program = flags[flags.index("--program") + 1]
        (source / PAGE).write_text(page_text(predictions(source, program)), "utf-8")
    rows = read_page((source / PAGE).read_text("utf-8"))
    for path, text in ((TABLE, table_text(rows)), (DOC, doc_text(source, rows))):
        if "--write" in flags:
            (source / path).write_text(text, "utf-8")
        elif (source / path).read_text("utf-8") != text:
            raise SystemExit(f"{path} is not what {PAGE} says: sparse_runs.py . --program build/bin/spscope --write")


if __name__ == "__main__":
    main()
