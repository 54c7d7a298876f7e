"""check_plan_text.py ops|dot FILE: the text of `plan --ops` or `plan --dot` is well-formed; exit 1 with what is not."""
import re
import sys

OP = re.compile(r" *(\d+)  post \d+ +rank \d+ +lane \d+  .+?(?:  after ([\d,]+))?$")
NODE = re.compile(r'    (op\d+) \[label="[^"]*"(?:, style=dashed)?\];$')
EDGE = re.compile(r"  (op\d+) -> (op\d+);$")
FRAME = re.compile(r'(digraph plan \{|  rankdir=LR;|  node \[.*\];|  subgraph cluster_\d+ \{|    label="rank \d+";|  \}|\})$')


def faults_of_ops(lines):
    """Ops of a plan are numbered from 0, and depend on earlier ones only."""
    expected = 0
    for line in lines:
        if line.startswith("# "):
            expected = 0
            continue
        op = OP.match(line)
        if not op or int(op.group(1)) != expected:
            yield f"not op {expected}: {line}"
            return
        if any(int(before) >= expected for before in (op.group(2) or "").split(",") if before):
            yield f"depends on a later op: {line}"
        expected += 1


def faults_of_dot(lines):
    """Every line is a node, an edge between nodes, or part of the frame; braces match."""
    nodes, ends, depth = [], set(), 0
    for line in lines:
        depth += line.endswith("{") - line.endswith("}")
        if match := NODE.match(line):
            nodes.append(match.group(1))
        elif match := EDGE.match(line):
            ends.update(match.groups())
        elif not FRAME.match(line):
            yield f"not expected: {line}"
    if depth or not nodes or not ends or len(set(nodes)) != len(nodes):
        yield f"{len(nodes)} nodes, {len(set(nodes))} of them different, {len(ends)} ends, depth {depth}"
    yield from (f"an edge to {name}, which is no node" for name in sorted(ends - set(nodes)))


def main(form, path):
    with open(path, encoding="utf-8") as file:
        faults = list((faults_of_ops if form == "ops" else faults_of_dot)(file.read().splitlines()))
    print("\n".join(faults[:5]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
