"""check_plan_text.py ops|dot FILE: the text of `plan --ops` or `plan --dot` is well-formed; fails with what is not."""
import re
import sys

OP = re.compile(r" *(\d+)  post \d+ +rank \d+ +lane \d+  .+?(?:  after ([\d,]+))?$")
NODE = re.compile(r'    (op\d+) \[label="[^"]*"(?:, style=dashed)?\];$')
EDGE = re.compile(r"  (op\d+) -> (op\d+);$")
FRAME = re.compile(r'(digraph plan \{|  rankdir=LR;|  node \[.*\];|  subgraph cluster_\d+ \{|    label="rank \d+";|  \}|\})$')


def check_ops(lines):
    """Ops of a plan are numbered from 0, and depend on earlier ones only."""
    number = 0
    for line in lines:
        if line.startswith("# "):
            number = 0
            continue
        op = OP.match(line)
        assert op and int(op[1]) == number, f"not op {number}: {line}"
        assert all(int(before) < number for before in (op[2] or "").split(",") if before), f"depends on a later op: {line}"
        number += 1


def check_dot(lines):
    """Every line is a node, an edge between nodes, or part of the frame; braces match."""
    nodes, edges = ([match.groups() for line in lines if (match := form.match(line))] for form in (NODE, EDGE))
    others = [line for line in lines if not NODE.match(line) and not EDGE.match(line) and not FRAME.match(line)]
    assert not others, f"not expected: {others[:5]}"
    assert sum(line.endswith("{") - line.endswith("}") for line in lines) == 0 and edges and len(set(nodes)) == len(nodes), nodes
    assert {(end,) for edge in edges for end in edge} <= set(nodes), "an edge to what is no node"


with open(sys.argv[2], encoding="utf-8") as file:
    {"ops": check_ops, "dot": check_dot}[sys.argv[1]](file.read().splitlines())
