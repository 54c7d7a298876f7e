"""Features of the view Run, the page of what is to run: presets, the form of config keys, its faults, strategies, commands
and files to take along.
"""
import json
import os
import shlex
import subprocess
import tomllib

from run_place import PRESETS, TITLES, ended, place_of, take, type_into
from world import ROOT


def run_presets(world):
    with place_of(world, "run presets") as place:
        window = place.window()
        files = sorted((ROOT / "samples/presets").glob("*.toml"))
        shown = {p["name"]: p["title"] for p in window.view["presets"]}
        assert list(shown) == [f.stem for f in files] + sorted(PRESETS), shown
        assert all(shown[name] == title for name, title in TITLES.items()), shown
        for file in files:
            window.click(f"presets/{file.stem}", rest=False)
            window.wait_for(lambda s: s["view"]["planned"] and s["view"]["strategies"], f"the plan of {file.stem}", 60)
            assert not window.view["problems"], (file.stem, window.view["problems"])
            assert any(s["legal"] for s in window.view["strategies"]), (file.stem, window.view["strategies"])
            asked = shlex.split(window.view["command"])
            verb = next(line.split()[2] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#   spscope"))
            assert asked[1] == verb, (file.stem, asked)
            # What the planned figures are of: one step, and with a lag one of which nothing is known.
            steps = tomllib.loads(file.read_text(encoding="utf-8"))["run"].get("denoise_steps", 1)
            lags = "mask_lag = 1" in file.read_text(encoding="utf-8")
            assert window.says("run.mask_lag = 1: in the first step no mask is known") == (lags and steps > 1), file.stem
            # The command asks for the config of the file, whose inputs are absolute in it and relative in the file.
            short = ["--set", "run.layers=[0]", "--set", "run.denoise_steps=1"]
            said = world.json_of("plan", world.binaries.parent / "share/spscope/presets" / file.name, "--json", *short)
            assert said["strategies"], file.stem
            options = [word for pair in zip(asked, asked[1:]) if pair[0] in ("-s", "--set") for word in pair]
            again = world.json_of("plan", "--json", *options, *short)
            assert again["config_hash"] == said["config_hash"], (file.stem, asked)
        # A file with faults is read as far as it goes, and each fault is said with its line.
        bad = PRESETS["done"].replace("density = 0.4", 'density = "much"').replace("repeats = 2", "repeets = 2")
        (place.config / "spscope/presets/bad.toml").write_text(bad, encoding="utf-8")
        window.close()
        again = place.window()
        again.click("presets/bad", rest=False)
        for words in ("bad.toml, line 9: mask.density", "bad.toml, line 16: run.repeets"):
            again.wait_for(lambda s, words=words: again.says(words), words)


def run_form(world):
    with place_of(world, "run form") as place:
        window = place.window()
        keys = [key["name"] for key in world.json_of("list", "keys", "--json")["keys"]]
        own = [k for k in keys if not k.startswith("strategy.") and len(k.split(".")) == 2]
        assert not window.has("mask.seed/value"), "keys that few need are shown at once"
        window.click("form/all settings")
        for key in own:
            if key != "run.strategies":
                assert window.has(f"form/{key}/value"), f"{key} is not in the form"
        # Parameters of each pattern with the pattern, of each strategy below it.
        patterns = sorted({k.split(".")[1] for k in keys if k.startswith("mask.") and len(k.split(".")) == 3})
        for pattern in patterns:
            window.click("form/mask.pattern/value", rest=False)
            window.wait_for(lambda s: window.has(f"{pattern}", "row") or window.find(pattern), f"the choice {pattern}")
            window.click(pattern, first=True, rest=False)
            window.wait_for(lambda s: s["view"]["values"]["mask.pattern"] == pattern, pattern)
            for key in keys:
                if key.startswith(f"mask.{pattern}."):
                    window.wait_for(lambda s, key=key: window.has(f"form/{key}/value"), key)
        for strategy in sorted({k.split(".")[1] for k in keys if k.startswith("strategy.")}):
            window.wait_for(lambda s: s["view"]["planned"], "the plan")  # rows get higher with it
            window.click(f"strategies/{strategy}/parameters", rest=False)
            for key in keys:
                if key.startswith(f"strategy.{strategy}."):
                    window.wait_for(lambda s, key=key: window.has(f"strategies/{strategy}/{key}/value"), key)
        # Search, a change, its mark, reset.
        window.click("form/all settings")
        type_into(window, "form/search", "seed")
        assert window.has("mask.seed/value") and window.has("run.seed/value") and not window.has("model.preset/value")
        assert not window.has("mask.seed/reset")
        type_into(window, "mask.seed/value", "17")
        window.wait_for(lambda s: s["view"]["values"]["mask.seed"] == "17", "the value")
        assert "mask.seed" in window.view["changed"] and "mask.seed=17" in window.view["command"]
        window.click("mask.seed/reset", rest=False)
        window.wait_for(lambda s: s["view"]["values"]["mask.seed"] == "1" and "mask.seed" not in s["view"]["changed"], "the default")


def run_faults(world):
    wrong = {"model.grid": "4, 4", "mask.density": "2", "cluster.ranks": "-3", "run.repeats": "many", "run.denoise_steps": "0",
             "mask.block": "0", "run.threads_per_rank": "-1"}
    with place_of(world, "run faults") as place:
        window = place.window()
        window.click("form/all settings")
        for key, value in wrong.items():
            type_into(window, f"form/{key}/value", value)
        window.wait_for(lambda s: len({p["field"] for p in s["view"]["problems"]}) >= len(wrong), "all problems")
        _all_said(window, set(wrong))
        start = window.item("actions/start")
        assert start["disabled"], "a config with faults can be run"
        # The program says the same of the same config, where it can be asked at all.
        said = subprocess.run([world.spscope, "plan", "--json", *sum((["--set", f"{k}={v}"] for k, v in wrong.items()), [])],
                              capture_output=True, text=True)
        told = {p["field"] for p in json.loads(said.stdout)["problems"]}
        assert told == {p["field"] for p in window.view["problems"]}, (told, window.view["problems"])
        # What only the program finds: a file that is not there, a strategy that cannot be. It stands beside its field, too.
        window.click("presets/done", rest=False)
        type_into(window, "form/mask.file/value", "/no/such/masks.npy")
        window.wait_for(lambda s: s["view"]["planned"] and s["view"]["problems"], "what the program says")
        _all_said(window, {"mask.file"})
        window.click("presets/done", rest=False)
        type_into(window, "form/run.device/value", "cudda")
        window.wait_for(lambda s: s["view"]["problems"] and s["view"]["problems"][0]["field"] == "run.device", "a problem of the device")
        _all_said(window, {"run.device"})
        # Of a strategy's parameter: below the strategy.
        window.click("presets/done", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and not s["view"]["problems"], "the plan")
        window.click("strategies/usp/parameters", rest=False)
        window.wait_for(lambda s: window.has("strategy.usp.ulysses/value"), "the parameters of usp")
        type_into(window, "strategy.usp.ulysses/value", "few")
        window.wait_for(lambda s: window.has("strategies/usp/chosen") and s["view"]["planned"] or s["view"]["problems"], "the answer")
        type_into(window, "actions/output", "/no/such/folder/x.db")


def _all_said(window, keys):
    """Each problem that the window knows is on the screen, those of `keys` under the name of their key."""
    problems = window.view["problems"]
    assert keys <= {p["field"] for p in problems}, (keys, problems)
    for problem in problems:
        texts = [i for i in window.items if i["kind"] == "text" and problem["message"] in i["text"]]
        texts = texts or [i for i in window.items if problem["message"] in i["text"]]
        assert texts, f"lost: {problem}"
        if problem["field"] in keys:
            beside = [i for i in texts if f"/{problem['field']}" in i["path"]]
            value = window.item(f"form/{problem['field']}/value")
            assert beside and min(abs(i["rect"][1] - value["rect"][3]) for i in beside) < 60, (problem, [i["path"] for i in texts])


def run_strategies(world):
    with place_of(world, "run strategies") as place:
        window = place.window()
        take(window, "done")
        # Legality, reasons and figures of the program.
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "-s dsp" in s["view"]["command"], "the plan with dsp")
        said = {s["name"]: s for s in _said(world, window, "ring", "dsp")["strategies"]}
        ring, dsp = _planned(window.state, "ring"), _planned(window.state, "dsp")
        assert ring["legal"] and ring["imbalance_ratio"] == said["ring"]["imbalance_ratio"], (ring, said["ring"])
        assert ring["sent_bytes"] == sum(said["ring"]["bytes_sent"]) / len(said["ring"]["bytes_sent"])
        assert not dsp["legal"] and [p["message"] for p in dsp["problems"]] == [p["message"] for p in said["dsp"]["problems"]]
        for problem in dsp["problems"]:
            assert f"{problem['message']} – {problem['hint']}" in " ".join(window.texts()), problem
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "-s dsp" not in s["view"]["command"], "the plan without dsp")
        # A second setting of one, and a parameter of another.
        window.click("strategies/ring/parameters", rest=False)
        window.wait_for(lambda s: window.has("strategies/ring/strategy.ring.order/value"), "the order of ring")
        window.click("strategies/ring/strategy.ring.order/value")
        window.click("strategy.ring.order/value/cyclic", rest=False)
        window.wait_for(lambda s: "strategy.ring.order=cyclic" in s["view"]["command"], "the parameter in the command")
        window.click("strategies/ring/add", rest=False)
        window.wait_for(lambda s: "ring:order=contiguous" in s["view"]["command"] and s["view"]["planned"] and
                        _planned(s, "ring:order=contiguous"), "the plan of a second setting")
        said = _said(world, window, "ring", "ring:order=contiguous", "--set", "strategy.ring.order=cyclic")["strategies"]
        for text, one in zip(("ring", "ring:order=contiguous"), said):
            assert _planned(window.state, text)["imbalance_ratio"] == one["imbalance_ratio"], (text, one)
        # None is chosen: said, and nothing can be run.
        window.click("setting 2/remove")
        for name in ("ring", "ulysses"):
            window.click(f"strategies/{name}/chosen")
        window.wait_for(lambda s: window.item("actions/start")["disabled"] and window.says("no strategy is chosen"), "a reason")
        # All settings worth comparing: what the program chooses.
        window.click("strategies/all", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and s["view"]["strategies"] and s["view"]["strategies"][0]["asked"] == "all", "all", 60)
        labels = [s["label"] for s in window.view["strategies"]]
        assert labels == [s["label"] for s in _said(world, window, "all", "--set", "strategy.ring.order=cyclic")["strategies"]]
        assert all(label in window.texts() for label in labels)


def _planned(state, text):
    return next((s for s in state["view"]["strategies"] or [] if s["asked"] == text), None)


def _said(world, window, *strategies):
    """What `spscope plan` says of the config of the form under these strategies; words that are none are arguments."""
    words, rest = shlex.split(window.view["command"])[2:], []
    for option, value in zip(words, words[1:]):
        if option == "--set" and not value.startswith("strategy."):
            rest += [option, value]
    plain = list(strategies)
    if "--set" in plain:
        rest += plain[plain.index("--set"):]
        plain = plain[:plain.index("--set")]
    return world.json_of("plan", "--json", *rest, *sum((["-s", s] for s in plain), []))


def run_copy(world):
    with place_of(world, "run copy") as place:
        window = place.window()
        take(window, "done", "copied $x 'y'.db")
        wanted = world.json_of("plan", "--json", place.config / "spscope/presets/done.toml")["config_hash"]
        window.click("actions/copy command")
        line = window.clipboard("form/search")
        assert line.startswith("spscope run ") and line == window.view["command"]
        shell = {**os.environ, **place.environment, "PATH": f"{world.binaries}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", line], cwd=place.scratch, env=shell, check=True, capture_output=True)
        _same_config(world, place.output("copied $x 'y'.db"), wanted)
        # The window's own run of it.
        type_into(window, "actions/output", "own.db")
        window.click("actions/start", rest=False)
        window.wait_for(lambda s: s["view"]["queue"], "the run")
        ended(window, 1, "done")
        _same_config(world, place.output("own.db"), wanted)
        window.click("set up", rest=False)
        # A config file.
        toml, job = place.output("kept.toml"), place.output("job.sbatch")
        window.click("actions/save toml")
        type_into(window, "actions/save path", str(toml))
        window.click("actions/save")
        assert world.json_of("plan", "--json", toml)["config_hash"] == wanted
        # A job for Slurm, with a srun that only runs what it is given.
        type_into(window, "actions/output", str(place.output("job.db")))
        window.click("actions/save sbatch")
        type_into(window, "actions/save path", str(job))
        window.click("actions/save")
        subprocess.run(["bash", "-n", job], check=True)
        srun = place.scratch / "bin/srun"
        srun.parent.mkdir()
        srun.write_text('#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nexec "$@"\n', encoding="utf-8")
        srun.chmod(0o755)
        done = subprocess.run(["bash", job], cwd=place.scratch, capture_output=True, text=True,
                              env={**shell, "PATH": f"{srun.parent}:{shell['PATH']}", "SLURM_JOB_ID": "7"})
        assert done.returncode == 0, done.stderr
        _same_config(world, place.output("job.db"), wanted)


def _same_config(world, path, wanted):
    found = {row[0] for row in world.sql(path, "SELECT DISTINCT config_hash FROM workload")}
    assert found == {wanted}, (found, wanted)
