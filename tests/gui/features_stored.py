"""Features that show in stored runs of other kinds than the demo: executed ones of several repeats, models that attend
along two axes. gui.md 1 and 4."""
import json
import time

from world import ROOT

REPEATS = 3
OUTER, INNER = 1, 2  # of enum_name: along time, along space


def _small(world):
    """The smallest model of two axes, executed here: whole layers, several repeats, sparse along space alone."""
    text = (ROOT / "samples/st-mini.toml").read_text(encoding="utf-8").replace("repeats = 5", f"repeats = {REPEATS}")
    return world.run("small.db", text)


def scope_repeat(world):
    """Bands are those of the median repeat at first, then of the one that is chosen; the link says which."""
    path = _small(world)
    window = world.open(f"{path}#timeline")
    makespans = {}
    for strategy, repeat, ns in world.sql(path, "select strategy.id, repeat, makespan_ns from repeat join run using (run_id) "
                                          "join strategy using (strategy_id) where layer = 0 and denoise_step = 0"):
        makespans.setdefault(strategy, {})[repeat] = ns
    assert len(makespans) > 1 and all(len(m) == REPEATS for m in makespans.values()), makespans
    shown = lambda: {b["strategy"]: b["makespan_ns"] for b in window.view["bands"]}
    assert window.item("scope/repeat", "choice")["value"] == "median repeat"
    assert shown() == {s: sorted(m.values())[REPEATS // 2] for s, m in makespans.items()}, (shown(), makespans)
    for repeat in range(REPEATS):
        window.click("scope/repeat", "choice")
        window.click(f"scope/repeat/repeat {repeat}")
        assert f"repeat={repeat}" in window.link, window.link
        assert shown() == {s: m[repeat] for s, m in makespans.items()}, (repeat, shown(), makespans)
    window.click("scope/repeat", "choice")
    window.click("scope/repeat/median repeat")
    assert "repeat=" not in window.link, window.link
    window.close()


def heads_axes(world):
    """Masks along space and along time are those that the file has of each."""
    path = _small(world)
    window = world.open(f"{path}#heads")
    stored = dict(world.sql(path, "select axis, density from mask_place join mask using (mask_id) where layer = 0 and denoise_step = 0"))
    blocks = dict(world.sql(path, "select axis, blocks from mask_place join mask using (mask_id) where layer = 0 and denoise_step = 0"))
    assert len(stored) == 2 and stored[OUTER] != stored[INNER], stored
    for name, axis in (("spatial", INNER), ("temporal", OUTER), ("spatial", INNER)):
        window.click("heads/main/axis/" + name)
        window.wait_for(lambda s: s["view"].get("axis") == name and "row_loads" in s["view"] and not s["busy"], f"the {name} masks")
        density = window.view["density"]
        assert abs(sum(density) / len(density) - stored[axis]) < 0.01, (name, density, stored)
        assert window.view["blocks"] == blocks[axis], (name, window.view["blocks"], blocks)
        assert window.item("heads/main/axis/" + name)["selected"]
    window.close()


def _slowest(world, strategy):
    """(layer, denoise step) of the slowest pass of a strategy of the demo."""
    passes = world.sql(world.demo, "select layer, denoise_step, makespan_ns from repeat join run using (run_id) join strategy using (strategy_id) "
                       f"where strategy.id = '{strategy}'")
    return max(passes, key=lambda p: p[2])[:2]


def overview_words_are_links(world):
    """Each word that names something leads there, by a click or by the keyboard: a strategy is selected, a rank is shown
    where it stands out, a loss where the strategy was slowest."""
    window = world.window("overview")
    ids = {s["label"]: s["id"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    words = [i for i in window.items if i["kind"] == "link" and "/block " in i["path"] and i["path"].startswith("overview/main")]
    kinds = {"strategy": 0, "rank": 0, "loss": 0}
    for word in words:
        sentence = word["path"].rsplit("/", 1)[0]
        of = next(ids[w["text"]] for w in words if w["path"].startswith(sentence + "/") and w["text"] in ids)
        window.click(word["path"])
        if word["text"] in ids:
            kinds["strategy"] += 1
            assert "#overview" in window.link and f"of={ids[word['text']]}" in window.link, (word["text"], window.link)
            continue
        assert "#timeline" in window.link and f"of={of}" in window.link, (word["text"], window.link)
        shown = (window.view["layer"], window.view["denoise_step"])
        if "rank" in word["text"]:
            kinds["rank"] += 1
            ratios = world.sql(world.demo, "select layer, denoise_step, rank, flops * 1.0 / avg(flops) over (partition by run_id) from rank_usage "
                               f"join run using (run_id) join strategy using (strategy_id) where strategy.id = '{of}'")
            worst = max(ratios, key=lambda r: r[3])
            assert shown == worst[:2] and f"rank={worst[2]}" in window.link, (word["text"], window.link, worst)
        else:
            kinds["loss"] += 1
            assert word["text"].split()[1] in ("us", "ms") and shown == _slowest(world, of), (word["text"], shown, _slowest(world, of))
        window.press("Alt+Left")
        assert "#overview" in window.link
    assert all(kinds.values()), kinds
    _by_keyboard(world.window("overview"))


def _by_keyboard(window):
    """Arrows go from the rail to the hint and on to a word, Space presses it."""
    focused = lambda: next((i["path"] for i in window.items if i["focused"]), "")
    window.press("Tab")
    for key, wanted in (("Down", "rail/views/timeline"), ("Right", "hint/action"), ("Down", "/conclusion/")):
        for _ in range(4):
            if wanted not in focused():
                window.press(key)
    assert window.item(focused())["kind"] == "link", focused()
    before = window.link
    window.press("Space")
    assert window.link != before, before


def reduced_motion(world):
    """With less motion, which is kept, what would play goes one step each time, and no frame is drawn by itself."""
    settings = world.folder / "motion.json"
    window = world.open(f"{world.demo}#heads", "--settings", settings)
    window.press("Ctrl+Shift+M")
    window.close()
    assert json.loads(settings.read_text())["less_motion"] is True
    window = world.open(f"{world.demo}#heads?layer=0&step=0", "--settings", settings)
    first = window.view["density"]
    for step in (1, 2, 0):
        window.press("Space")
        window.wait_for(lambda s: not s["busy"] and "axis" in s["view"], "the heads of the step")
        assert (f"step={step}" in window.link) and (window.view["density"] == first) == (step == 0), (step, window.link)
    frame = -1
    while frame != (frame := window.read()["frame"]):
        time.sleep(0.3)  # frames that follow the last input
    time.sleep(1.5)  # three steps, were it playing
    assert window.read()["frame"] == frame, (frame, window.state["frame"])
    window.close()
