"""Verdicts on strategies and runs: gui.md 4, compared with what the command line says of the same files."""


def compare_says_a_verdict(world):
    """Of each pair: which is faster, or that the error of the model is larger than the difference; and what supports it, of
    the first two as `report` says."""
    report = world.json_of("report", world.demo, "--json")
    verdict, told = report["verdicts"][0], {s["id"]: s for s in report["strategies"]}
    error, rest, kinds = verdict["ratio_error"]["median"], verdict["ratio_error"]["rest_of_layer_ns"], set()
    for a, b in (("cyclic", "dbsp"), ("usp", "ulysses"), ("ring", "cyclic")):
        dump = world.view_dump("compare", f"{world.demo}#compare?s={a},{b}&of={b}")
        fast, slow = sorted((told[a], told[b]), key=lambda s: s["makespan_ns"])
        rest_ns = rest * len(fast["by_layer"])
        close = slow["makespan_ns"] + rest_ns < (1 + error) * (fast["makespan_ns"] + rest_ns)
        kinds.add(close)
        supported = verdict["unmeasured"] if {a, b} == set(verdict["not_told_apart"]) else "This ranking is a prediction: "
        assert {dump["from"], dump["to"]} == {a, b} and supported in dump["unmeasured"], (dump, verdict)
        assert dump["verdict"] == (f"Too close to call (predicted): the difference is less than {100 * error:.1f} % of a whole layer, the model's median error."
                                   if close else f"{fast['label']} is faster (predicted)."), dump
    assert kinds == {True, False}, kinds
    window = world.window("compare")
    assert window.says(window.view["verdict"]) and window.says(window.view["unmeasured"]), window.view


def compare_two_runs(world):
    """The same strategy of two runs is judged as `spscope compare` does, from either side, layer pass by layer pass; others are
    refused."""
    slow = world.run("slower.db", "run.implementation=official")
    label = {s["id"]: s["label"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    changes = {c["label_after"]: c for c in world.json_of("compare", world.demo, slow, "--json")["changes"]}
    compared = {file: world.json_of("compare", file, "--json")["strategies"] for file in (world.demo, slow)}
    for id in ("ring", "cyclic"):
        assert changes[label[id]]["regression"], changes[label[id]]
        for files in ((world.demo, slow), (slow, world.demo)):
            dump = world.view_dump("compare", f"{files[0]},{files[1]}#compare?s={id},1:{id}&of=1:{id}")
            word = "faster" if dump["from_ns"] > dump["to_ns"] else "slower"
            assert dump["verdict"].startswith(label[id] + " · ") and f" is {word} by " in dump["verdict"], (dump["verdict"], word)
            shown = float(dump["verdict"].split(" by ")[1].split()[0])
            wanted = 100 * abs(dump["to_ns"] - dump["from_ns"]) / dump["from_ns"]
            assert abs(shown - wanted) <= (0.5 if wanted >= 10 else 0.05), (dump["verdict"], wanted)
            told = [{(p["layer"], p["denoise_step"]): p["makespan_ns"] for s in compared[file]
                     if s["id"] == id for p in s["by_layer"]} for file in ((slow, world.demo) if word == "faster" else (world.demo, slow))]
            assert len(told[0]) == 6 and {(p["layer"], p["denoise_step"]): (p["from_ns"], p["to_ns"]) for p in dump["passes"]} == \
                {place: (told[0][place], told[1][place]) for place in told[0]}, dump["passes"]
    other = world.view_dump("compare", f"{world.demo},{slow}#compare?s=cyclic,1:ring&of=1:ring")
    assert "compares with the same one" in other["not_comparable"], other
