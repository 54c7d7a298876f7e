#!/usr/bin/env bash
# What bench/measured/accuracy.md says is predicted is what the program prints for the config of the row, and docs/accuracy.md sums
# its rows up: what it says of each limit and of each group of runs is what their numbers say.
. "$(dirname -- "$0")/common.inc"

"$python" -B - "$SOURCE_DIR" <<'EOF' || fail "the summary says other than its numbers"
import collections, csv, re, sys
table = lambda page: [[c.strip() for c in line.split("|")] for line in open(f"{sys.argv[1]}/{page}") if line.startswith("|")]
summary, measured = table("docs/accuracy.md"), {r["id"]: r for r in csv.DictReader(open(sys.argv[1] + "/bench/measured/end_to_end.csv"))}
cells = {c[1]: c for c in summary}
value = [float(re.search(r"([0-9.]+) %", c).group(1)) for c in [*cells["source unseen"][3:6], cells["source unseen"][8]]]
said = ["met" in c for c in [*cells["wanted, unseen"][3:6], cells["wanted, unseen"][8]]]
assert said == [value[0] <= 11, value[1] >= 80, value[2] <= 14, value[3] >= 85], (value, said)
assert value[0] <= 11 and value[1] >= 80 and value[2] <= 14 and value[3] >= 79, value
# Each group of runs is that of its rows, whose predictions are rounded.
errors, links = collections.defaultdict(list), {"PCIe4": "PCIe", "unknown": "PCIe"}
page = open(sys.argv[1] + "/bench/measured/accuracy.md").read()
for row, seconds, unseen in re.findall(r"(E\d+) [^:|]*: ([^;]+); [^;]+; ([^,]+),", page):
    gpus, link = int(measured[row]["gpus"]), re.split("[ ,]", measured[row]["interconnect"])[0]
    group = links.get(link, "NVLink"), str(gpus) if gpus < 3 else "3 or 4" if gpus < 5 else "5 to 8"
    errors[group].append(abs(float(unseen) / float(seconds) - 1))
assert sum(map(len, errors.values())) == 300
# Pairs in order, and those of them beyond the error of ratios, are counted again; rounding may move one across that error.
runs = [(measured[i], float(s), float(u)) for i, s, u in re.findall(r"(E\d+) [^:|]*: ([^;]+); [^;]+; ([^,]+),", page)]
series = lambda r: [r[k] for k in "source gpu interconnect model resolution frames software implementation gpus".split()]
ratios, apart = collections.defaultdict(list), []
for n, (a, a_s, a_u) in enumerate(runs):
    for b, b_s, b_u in (other for other in runs[n + 1:] if series(other[0]) == series(a)):
        kind = re.split("[ ,]", a["interconnect"])[0] in links and (a["gpus"] == "2", "PCIe"), a["cfg_parallel"] == b["cfg_parallel"]
        ratios[kind].append(max(a_u / b_u * b_s / a_s, b_u / a_u * a_s / b_s))
        if max(a_s / b_s, b_s / a_s) > 1.08:
            apart.append((kind, max(a_u / b_u, b_u / a_u), (a_u > b_u) == (a_s > b_s)))
called = [right for kind, ratio, right in apart if ratio >= sorted(ratios[kind])[len(ratios[kind]) // 2]]
said = [list(map(int, c.split()[0:3:2])) for c in cells["source unseen"][8:10]]
assert said[0] == [sum(right for *_, right in apart), len(apart)], said
assert abs(said[1][0] - sum(called)) <= 1 and abs(said[1][1] - len(called)) <= 1, (said, sum(called), len(called))
for group, of_group in errors.items():
    row = next(c for c in summary if tuple(c[1:3]) == group)
    assert int(row[3]) == len(of_group) and abs(float(row[4].split()[0]) - 100 * sorted(of_group)[len(of_group) // 2]) < 0.15, row
EOF

"$MEASURED_CONFIGS" "$SOURCE_DIR/bench/measured/end_to_end.csv" configs >"$out"
expect_out 'wrote 300 configs to configs'
"$python" -B - "$SOURCE_DIR" "$SPSCOPE" <<'EOF' || fail "the document predicts other times than the program"
import csv, json, re, subprocess, sys
source, program = sys.argv[1:]
measured = {r["id"]: r for r in csv.DictReader(open(source + "/bench/measured/end_to_end.csv"))}
page = open(source + "/bench/measured/accuracy.md").read()
rows = [(measured[row], predicted) for row, predicted in re.findall(r"(E\d+) [^:|]*: [^;]+; ([^,]+),", page)]
chosen = rows[:: max(1, len(rows) // 10)][:10]
assert len(chosen) == 10, "the document has other rows than the table"
for row, predicted in chosen:
    s = json.loads(subprocess.check_output([program, "run", f"configs/{row['id']}.toml", "--json"]))["strategies"][0]
    inside = s["end_to_end_ns"] - (s["outside_layers_ns"] or 0)
    ns = {"e2e": s["end_to_end_ns"], "denoise": inside, "step": inside / int(row["steps"] or 1)}[row["scope"]]
    # Parameters have three digits in the files of profiles.
    assert abs(ns / 1e9 / float(predicted) - 1) < 0.002, f"{row['id']}: the document says {predicted} s, the program {ns / 1e9} s"
EOF
