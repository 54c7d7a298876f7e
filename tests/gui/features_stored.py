"""Features that show in stored runs of other kinds than the demo: executed ones of several repeats, models that attend
along two axes. gui.md 1 and 4."""
import time

REPEATS = 3  # of World.executed
OUTER, INNER = 1, 2  # of enum_name: along time, along space


def scope_repeat(world):
    """Bands are those of the median repeat at first, then of the one that is chosen; the link says which."""
    path = world.executed
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
        window.choose("scope/repeat", f"scope/repeat/repeat {repeat}")
        assert f"repeat={repeat}" in window.link, window.link
        assert shown() == {s: m[repeat] for s, m in makespans.items()}, (repeat, shown(), makespans)
    window.choose("scope/repeat", "scope/repeat/median repeat")
    assert "repeat=" not in window.link, window.link
    window.close()


def heads_axes(world):
    """Masks along space and along time are those that the file has of each."""
    path = world.executed
    window = world.open(f"{path}#heads")
    stored = {axis: (density, blocks) for axis, density, blocks in world.sql(
        path, "select axis, density, blocks from mask_place join mask using (mask_id) where layer = 0 and denoise_step = 0")}
    assert len(stored) == 2 and stored[OUTER][0] != stored[INNER][0], stored
    for name, axis in (("spatial", INNER), ("temporal", OUTER), ("spatial", INNER)):
        window.click("heads/main/axis/" + name)
        window.wait_for(lambda s: s["view"].get("axis") == name and "row_loads" in s["view"] and not s["busy"], f"the {name} masks")
        density = window.view["density"]
        assert abs(sum(density) / len(density) - stored[axis][0]) < 0.01 and window.view["blocks"] == stored[axis][1], (name, density, stored)
        assert window.item("heads/main/axis/" + name)["selected"]
    window.close()


def overview_words_are_links(world):
    """Each word that names something leads there: a strategy is selected, a rank is shown where it stands out, a loss where the
    strategy was slowest."""
    window = world.window("overview")
    ids = {s["label"]: s["id"] for s in world.json_of("report", world.demo, "--json")["strategies"]}
    words = [i for i in window.items if i["kind"] == "link" and "/block " in i["path"] and i["path"].startswith("overview/main")]
    largest = lambda rows: max(rows, key=lambda row: row[-1])[:-1]
    kinds = set()
    for word in words:
        sentence = word["path"].rsplit("/", 1)[0]
        of = next(ids[w["text"]] for w in words if w["path"].startswith(sentence + "/") and w["text"] in ids)
        window.click(word["path"])
        told = (word["text"], window.link)
        if word["text"] in ids:
            kinds.add("strategy")
            assert "#overview" in window.link and f"of={ids[word['text']]}" in window.link, told
            continue
        assert "#timeline" in window.link and f"of={of}" in window.link, told
        shown, runs = (window.view["layer"], window.view["denoise_step"]), f"join run using (run_id) join strategy using (strategy_id) where strategy.id = '{of}'"
        if "rank" in word["text"]:
            kinds.add("rank")
            worst = largest(world.sql(world.demo, "select layer, denoise_step, rank, flops * 1.0 / avg(flops) over (partition by run_id) "
                                      "from rank_usage " + runs))
            assert shown == worst[:2] and f"rank={worst[2]}" in window.link, (*told, worst)
        else:
            busiest = word["text"] == "the busiest one"
            kinds.add("rank" if busiest else "loss")
            slowest = largest(world.sql(world.demo, "select layer, denoise_step, makespan_ns from repeat " + runs))
            assert shown == slowest and ("rank=" in window.link if busiest else word["text"].split()[1] in ("us", "ms")), (*told, shown, slowest)
        window.press("Alt+Left")
        assert "#overview" in window.link
    assert kinds == {"strategy", "rank", "loss"}, kinds


def reduced_motion(world):
    """With less motion, which is kept, what would play goes one step each time, or one layer where those are chosen, and no frame
    is drawn by itself."""
    settings = world.folder / "motion.json"
    window = world.open(f"{world.demo}#heads", "--settings", settings)
    window.press("Ctrl+Shift+M")
    window.close()
    window = world.open(f"{world.demo}#heads?layer=0&step=0", "--settings", settings)
    first = window.view["density"]
    for along, places in (("steps", ((0, 1), (0, 2), (0, 0))), ("layers", ((1, 0), (0, 0)))):
        window.choose("heads/main/along", "along/" + along)
        for layer, step in places:
            window.press("Space")
            window.wait_for(lambda s: not s["busy"] and "axis" in s["view"], "the heads of the step")
            assert f"layer={layer}" in window.link and f"step={step}" in window.link, window.link
            assert (window.view["density"] == first) == ((layer, step) == (0, 0)), window.link
    window.rest()
    frame = window.read()["frame"]
    time.sleep(1.5)  # three steps, were it playing
    assert window.read()["frame"] == frame, (frame, window.state["frame"])
    window.close()
