"""Features of the view Run, the page of what is to run: presets, the form of config keys, its faults, strategies, commands
and files to take along.
"""
import json
import os
import shlex
import subprocess
import tomllib

from run_place import PRESETS, TITLES, ended, place_of, run_of, take, type_into
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
            text, asked = file.read_text(encoding="utf-8"), shlex.split(window.view["command"])
            assert f"#   spscope {asked[1]} " in text, (file.stem, asked)
            # What the planned figures are of: one step, and with a lag one of which nothing is known.
            unknown = "mask_lag = 1" in text and tomllib.loads(text)["run"].get("denoise_steps", 1) > 1
            assert window.says("run.mask_lag = 1: in the first step no mask is known") == unknown, file.stem
            # The command asks for the config of the file, whose inputs are absolute in it and relative in the file.
            short = ["--set", "run.layers=[0]", "--set", "run.denoise_steps=1", "--json"]
            options = [word for pair in zip(asked, asked[1:]) if pair[0] in ("-s", "--set") for word in pair]
            hashes = {world.json_of("plan", *words, *short)["config_hash"]
                      for words in ([world.binaries.parent / "share/spscope/presets" / file.name], options)}
            assert len(hashes) == 1, (file.stem, asked)
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
        assert not window.has("mask.seed/value"), "keys that few need are shown at once"
        window.click("form/all settings")
        for key in keys:
            assert len(key.split(".")) > 2 or key == "run.strategies" or window.has(f"form/{key}/value"), f"{key} is not in the form"
        # Parameters of each pattern with the pattern, of each strategy below it.
        patterns = sorted({k.split(".")[1] for k in keys if k.startswith("mask.") and len(k.split(".")) == 3})
        for pattern in patterns:
            window.click("form/mask.pattern/value", rest=False)
            window.wait_for(lambda s: window.has(pattern), f"the choice {pattern}")
            window.click(pattern, first=True, rest=False)
            window.wait_for(lambda s: s["view"]["values"]["mask.pattern"] == pattern and (s["view"]["planned"] or s["view"]["problems"]), pattern)
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
        assert window.item("actions/start")["disabled"], "a config with faults can be run"
        # The program says the same of the same config, where it can be asked at all.
        said = subprocess.run([world.spscope, "plan", "--json", *sum((["--set", f"{k}={v}"] for k, v in wrong.items()), [])],
                              capture_output=True, text=True)
        told = {p["field"] for p in json.loads(said.stdout)["problems"]}
        assert told == {p["field"] for p in window.view["problems"]}, (told, window.view["problems"])
        # What only the program finds stands beside its field, too.
        for key, value in (("mask.file", "/no/such/masks.npy"), ("run.device", "cudda")):
            window.click("presets/done", rest=False)
            type_into(window, f"form/{key}/value", value)
            window.wait_for(lambda s: s["view"]["problems"] and s["view"]["problems"][0]["field"] == key, f"what the program says of {key}")
            _all_said(window, {key})


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
        planned = lambda text: next((s for s in window.view["strategies"] or [] if s["asked"] == text), None)
        command = lambda words: lambda s: s["view"]["planned"] and words in s["view"]["command"]
        # Legality, reasons and figures of the program.
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(command("-s dsp"), "the plan with dsp")
        words = shlex.split(window.view["command"])[2:]
        config = [word for pair in zip(words, words[1:]) if pair[0] == "--set" for word in pair]
        said = {s["name"]: s for s in world.json_of("plan", "--json", *config, "-s", "ring", "-s", "dsp")["strategies"]}
        ring, dsp = planned("ring"), planned("dsp")
        assert ring["legal"] and ring["imbalance_ratio"] == said["ring"]["imbalance_ratio"], (ring, said["ring"])
        assert ring["sent_bytes"] == sum(said["ring"]["bytes_sent"]) / len(said["ring"]["bytes_sent"])
        assert not dsp["legal"] and [p["message"] for p in dsp["problems"]] == [p["message"] for p in said["dsp"]["problems"]]
        for problem in dsp["problems"]:
            assert f"{problem['message']} – {problem['hint']}" in " ".join(window.texts()), problem
        window.click("strategies/dsp/chosen", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "-s dsp" not in s["view"]["command"], "the plan without dsp")
        # A parameter, and a second setting.
        window.click("strategies/ring/parameters", rest=False)
        window.wait_for(lambda s: window.has("strategies/ring/strategy.ring.order/value"), "the order of ring")
        window.click("strategies/ring/strategy.ring.order/value")
        window.click("strategy.ring.order/value/cyclic", rest=False)
        window.wait_for(command("strategy.ring.order=cyclic"), "the parameter in the command")
        window.click("strategies/ring/add", rest=False)
        window.wait_for(lambda s: command("ring:order=contiguous")(s) and planned("ring:order=contiguous"), "the plan of a second setting")
        # The second setting stands below its strategy, and no strategy has two rows.
        names = [i["text"] for i in window.items if i["kind"] == "checkbox" and i["path"].endswith("/chosen")]
        ring, below = (window.item(name)["rect"][3] for name in ("strategies/ring/chosen", "setting 2/value"))
        assert len(names) == len(set(names)) and ring < below, (names, ring, below)
        # None is chosen: said, and nothing can be run.
        window.click("setting 2/remove")
        for name in ("ring", "ulysses"):
            window.click(f"strategies/{name}/chosen")
        window.wait_for(lambda s: window.item("actions/start")["disabled"] and window.says("no strategy is chosen"), "a reason")
        # All settings worth comparing: what the program chooses.
        window.click("strategies/all", rest=False)
        window.wait_for(lambda s: planned("all"), "all", 60)
        labels = [s["label"] for s in window.view["strategies"]]
        chosen = world.json_of("plan", "--json", *config, "-s", "all", "--set", "strategy.ring.order=cyclic")["strategies"]
        assert labels == [s["label"] for s in chosen] and set(labels) <= set(window.texts())


def run_advise(world):
    """The answer is sentences and a table that fits its pane; what it advises is run by a press."""
    with place_of(world, "run advise") as place:
        window = place.window()
        window.click("presets/1-which-strategy", rest=False)
        window.wait_for(lambda s: s["view"]["planned"] and "advise" in s["view"]["command"], "the plan", 60)
        window.click("actions/start", rest=False)
        window.wait_for(lambda s: run_of(s, 1), "the run")
        ended(window, 1, "done")
        window.wait_for(lambda s: window.has("advice/run this"), "the answer")
        rows, last = window.rows("strategies"), window.item("strategies/rows/sort sent/rank")
        assert len(rows) > 5 and last["rect"][2] <= last["clip"][2] and not window.has("printed"), (rows, last)
        window.click("advice/run this", rest=False)
        window.wait_for(lambda s: run_of(s, 2), "the run of what is advised")
        ended(window, 2, "done")
        assert rows[0] in [label for label, in world.sql(place.output("run-1.db"), "select label from strategy")], rows


def run_copy(world):
    """The command, the config file and the job for Slurm, and a run, are all of one config."""
    with place_of(world, "run copy") as place:
        window = place.window()
        take(window, "done", "copied $x 'y'.db")
        wanted = world.json_of("plan", "--json", place.config / "spscope/presets/done.toml")["config_hash"]
        window.click("actions/copy command")
        line = window.clipboard("form/search")
        assert line.startswith("spscope run ") and line == window.view["command"]
        shell = {**os.environ, **place.environment, "PATH": f"{world.binaries}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", line], cwd=place.scratch, env=shell, check=True, capture_output=True)
        type_into(window, "actions/output", "own.db")
        window.click("actions/start", rest=False)
        window.wait_for(lambda s: s["view"]["queue"], "the run")
        ended(window, 1, "done")
        for name in ("copied $x 'y'.db", "own.db"):
            assert world.sql(place.output(name), "SELECT DISTINCT config_hash FROM workload") == [(wanted,)], name
        window.click("set up", rest=False)
        toml, job = place.output("kept.toml"), place.output("job.sbatch")
        for what, path in (("toml", toml), ("sbatch", job)):
            window.click(f"actions/save {what}")
            type_into(window, "actions/save path", str(path))
            window.click("actions/save")
        assert world.json_of("plan", "--json", toml)["config_hash"] == wanted
        # What the job does: AScriptForSlurmHoldsTheConfig.
        subprocess.run(["bash", "-n", job], check=True)
        assert "#SBATCH --nodes=1" in job.read_text(encoding="utf-8")
