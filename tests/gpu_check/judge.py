"""Judges results.json of gpu-check: `judge.py FOLDER JUDGEMENT [argument...]`, for gpu-check.sh. Exit 1 when one fails."""
import json
import re
import sys
from pathlib import Path

DENSE = ("attention-8k", "attention-16k", "attention-32k", "attention-64k")


def no_device(machine, checks):
    assert machine["gpu"] == "" and machine["missing"]
    for check in checks.values():
        assert check["status"] == "skipped" and check["reason"].startswith("not measured: no device"), check


def emulated(machine, checks):
    """All of it on the emulated driver: right, every limit of the issue there, none of them compared."""
    assert machine["fake"] and machine["gpu"] == "spscope fake device" and machine["host_memory_bytes"] > 0
    assert {name for name, check in checks.items() if check["status"] != "passed"} <= {"processes", "collect-nccl"}, checks
    figures = [(name, figure) for name, check in checks.items() for figure in check.get("figures", [])]
    assert {figure["verdict"] for _, figure in figures if "limit" in figure} == {"not compared: fake device"}
    limits = {(name, figure["limit"]) for name, figure in figures if "limit" in figure}
    assert {(name, "at least 0.95") for name in DENSE} <= limits
    assert {("sparse-64", "at least 0.7"), ("sparse-128", "at least 0.85"), ("pack", "at least 0.85")} <= limits
    assert {("layer-error", "at most 2"), ("layer-project", "at most 0.05"), ("layer-project", "at most 0.02")} <= limits
    assert {("collect-cost", "at most 0.01"), ("collect-cost", "at most 0.02"), ("collect-cost", "at most 0"),
            ("collect-rate", "at most 0"), ("collect-nvml", "at most 0.05"), ("attach-torch", "at most 0.02")} <= limits
    collected(checks)
    assert {"network.compute_slowdown, spread", "gap between launches"} <= {f["name"] for f in checks["calibrate"]["figures"]}
    assert all(checks[name]["facts"]["peer"] == "stub of PyTorch" for name in DENSE)
    error = {figure["name"]: figure["value"] for figure in checks["layer-error"]["figures"]}
    assert abs(error["error over PyTorch's"] - 1.5) < 1e-12
    assert 0 < error["largest error of a sampled row, squared"] < 5e-5
    assert all(figure["value"] > 0 for figure in checks["sparse-64"]["figures"])
    assert [figure["name"] for figure in checks["sparse-128"]["figures"] if "Flex" in figure["name"]] == ["rate at density 0.25 over FlexAttention's"]
    assert checks["sparse-128"]["facts"]["no FlexAttention"] == "FlexAttention: a stub"


def collected(checks):
    """What collectors say of the fakes is what these did."""
    figures = {name: {figure["name"]: figure["value"] for figure in checks[name].get("figures", [])} for name in checks}
    cost = figures["collect-cost"]
    assert cost["kernels of ops"] == cost["of these with the call that launched them"] > 0, cost
    assert cost["kernels that begin over 10 us before their launch"] == 0, cost
    assert figures["collect-rate"]["records dropped, all rates"] == 0
    assert all(figures["collect-rate"][f"records, {threads} threads"] > 0 for threads in (1, 2, 4))
    same = {name: value for name, value in figures["collect-nvml"].items() if "nvidia-smi" in name}
    assert len(same) == 5 and all(value < 1e-9 for name, value in same.items() if "energy" not in name), same
    # 2 launches of each of 3 copies by the check `pack`.
    assert figures["attach-torch"]["kernels of a run"] == 6, figures["attach-torch"]
    assert figures["collect-window"] == {"kernels of a step in the window": 1}
    assert "torch.profiler" in checks["attach-torch"]["facts"]["attach, with torch.profiler"]


def figure(_, checks, name, of, value):
    """To four digits."""
    (found,) = [figure["value"] for figure in checks[name]["figures"] if figure["name"] == of]
    assert abs(found - float(value)) < 1e-4, checks[name]


def fact(_, checks, name, of, end):
    assert checks[name]["status"] == "passed" and checks[name]["facts"][of].endswith(end), checks[name]


def failed(_, checks, name, words):
    assert checks[name]["status"] == "failed" and words in checks[name]["reason"], checks[name]


def skipped(_, checks, name, words, figures="some"):
    """It gives figures of its own all the same, where there are any."""
    assert checks[name]["status"] == "skipped" and words in checks[name]["reason"], checks[name]
    assert bool(checks[name]["figures"]) == (figures == "some")


def only_gpu(machine, _, visible):
    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", visible), visible
    assert machine["uuid"] == visible


def none_failed(_, checks):
    assert {check["status"] for check in checks.values()} <= {"passed", "skipped", "not run"}


def main(folder, judgement, *arguments):
    results = json.loads((Path(folder) / "results.json").read_text())
    assert results["schema_version"] == 1
    checks = {check["name"]: check for check in results["checks"]}
    {f.__name__: f for f in (no_device, emulated, figure, fact, failed, skipped, only_gpu, none_failed)}[judgement](
        results["machine"], checks, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
