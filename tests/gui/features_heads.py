"""The view Heads, and the way to it from an empty start: gui.md 4."""
import json


def heads_thumbnails(world):
    """All heads are there, each with its exact density."""
    path = world.one_pass()
    window = world.open(f"{path}#heads")
    window.wait_for(lambda s: s["view"].get("density") and not s["busy"], "the masks")
    density = window.view["density"]
    exact = world.json_of("mask", "info", path, "--json")["head_density"]
    assert len(density) == 40 and all(abs(a - b) < 1e-12 for a, b in zip(density, exact, strict=True)), (density, exact)
    shown = [i for i in window.items if "/grid/head " in i["path"] and i["kind"] == "picture"]
    assert shown and all(float(i["value"]) == density[int(i["text"].split()[1])] for i in shown)
    window.close()


def _in_reading_order(window):
    shown = [i for i in window.items if "/grid/head " in i["path"] and i["kind"] == "picture"]
    return [int(i["text"].split()[1]) for i in sorted(shown, key=lambda i: (round(i["rect"][1]), i["rect"][0]))]


SAMPLED = (0, 13, 26, 39)  # heads whose tiles are looked at
_tiles = {}


def _ranks_of_tiles(world, head):
    """By strategy, the ranks that have any tile of a head of the slowest layer pass."""
    if head not in _tiles:
        strategies = world.view_dump("heads", f"{world.demo}#heads?layer=0&step=0&head={head}")["strategies"]
        _tiles[head] = {s["strategy"]: [r for r, tiles in enumerate(s["tiles_by_rank"]) if tiles > 0] for s in strategies}
    return _tiles[head]


def heads_ranks(world):
    """The ranks of each head are those that compute its tiles; the first head that is shown is the densest of the selected rank."""
    rank = 2
    for strategy in ("ulysses", "usp", "dbsp"):
        dump = world.view_dump("heads", f"{world.demo}#heads?layer=0&step=0&of={strategy}&rank={rank}")
        ranks, density = dump["ranks_of_heads"], dump["density"]
        for head in SAMPLED:
            assert ranks[head] == _ranks_of_tiles(world, head)[strategy], (strategy, head, ranks[head])
        mine = [h for h in range(len(density)) if rank in ranks[h]]
        assert mine and dump["head"] == max(mine, key=lambda h: density[h]), (strategy, dump["head"], mine)


def heads_scroll_to_the_late_rank(world):
    """By *Its heads* of the rank that others wait for: all its heads are on the screen and lit, however far down they
    stand; where every rank attends each head none is lit. The grid stays where it is scrolled to."""
    window = world.open(f"{world.demo}#timeline?of=ulysses&layer=0&step=0&rank=7", size=(1280, 720))
    window.click("details/pane/heads")
    window.wait_for(lambda s: "#heads" in s["link"] and s["view"].get("ranks_of_heads") and s["view"]["density"] and not s["busy"], "its heads")
    mine = {h for h, ranks in enumerate(window.view["ranks_of_heads"]) if 7 in ranks}

    def lit():
        return {int(i["text"]) for i in window.items if "/grid/of rank " in i["path"] and
                i["rect"][1] >= i["clip"][1] - 1 and i["rect"][3] <= i["clip"][3] + 1}
    assert mine == set(range(35, 40)) and lit() == mine, (mine, lit())
    window.wheel("grid/head 38", up=True, times=30)
    assert window.has("grid/head 0") and not lit(), "it scrolls away"
    window.close()
    dump = world.open(f"{world.demo}#heads?of=ring&layer=0&step=0&rank=7")
    dump.wait_for(lambda s: s["view"].get("ranks_of_heads") and s["view"].get("density") and not s["busy"], "the heads")
    assert not any("/grid/of rank " in i["path"] for i in dump.items)
    dump.close()


def heads_sorted(world):
    """By density, and by the ranks that compute the tiles of each head of dbsp, which deals heads out pass by pass."""
    window = world.open(f"{world.demo}#heads?of=dbsp&layer=0&step=0")
    window.wait_for(lambda s: s["view"].get("density") and s["view"].get("ranks_of_heads") and not s["busy"], "the heads")
    density, owner = window.view["density"], {h: _ranks_of_tiles(world, h)["dbsp"] for h in SAMPLED}
    for order, key in (("by density", lambda h: -density[h]), ("by tiles", lambda h: -density[h]), ("by owner", lambda h: owner[h]), ("by head", lambda h: h)):
        window.choose("heads/main/order", "order/" + order)
        shown = _in_reading_order(window)
        assert window.view["order"][:len(shown)] == shown and sorted(window.view["order"]) == list(range(len(density))), (order, shown)
        keys = [key(h) for h in window.view["order"] if order != "by owner" or h in owner]
        assert keys == sorted(keys), (order, keys)
    assert len({tuple(o) for o in owner.values()}) > 1, owner
    window.close()


def heads_one_large(world):
    window = world.window("heads")
    window.click("grid/head 3")
    assert "head=3" in window.link and window.view["head"] == 3
    scale = next(i for i in window.items if i["text"] == "density" and i["kind"] == "text")
    assert scale["path"] == "heads/main" and "1,182 blocks" in window.details, (scale["path"], window.details)
    window.wait_for(lambda s: "row_loads" in s["view"] and not s["busy"], "the mask of the head")
    rows, columns, blocks = window.view["row_loads"], window.view["column_loads"], window.view["blocks"]
    assert sum(rows) == sum(columns) and len(rows) == len(columns) == blocks
    assert abs(sum(rows) / blocks ** 2 - window.view["density"][3]) < 0.02  # the last block has fewer tokens


def heads_slide_over_steps(world):
    window = world.window("heads?layer=0&step=0")
    before = window.view["density"]
    window.click("heads/main/denoise step", "slider", at=(0.99, 0.5))
    assert "step=2" in window.link
    window.wait_for(lambda s: not s["busy"] and s["view"].get("density") not in (None, before), "the heads of another step")
    window.click("heads/main/layer", "slider", at=(0.99, 0.5))
    assert "layer=1" in window.link


def heads_difference(world):
    window = world.window("heads?layer=0&step=0")
    window.click("heads/main/difference", "checkbox")
    window.choose("heads/main/other step", "other step/1")
    assert window.item("heads/main/other step", "choice")["value"] == "1"
    window.wait_for(lambda s: "difference" in s["view"] and not s["busy"], "the difference")
    head, shown = window.view["head"], window.view["difference"]
    here, there = (sum(world.view_dump("heads", f"{world.demo}#heads?layer=0&step={s}&head={head}")["row_loads"]) for s in (0, 1))
    assert shown["only_here"] + shown["both"] == here and shown["only_there"] + shown["both"] == there, (shown, here, there)
    assert shown["only_here"] and shown["both"], shown
    window.click("heads/main/difference", "checkbox")
    assert not window.has("heads/main/other step", "choice")


def heads_owners(world):
    """Each strategy computes the tiles of a head once, whoever does. A tile says its owners under each, with one cursor, and leads to
    the event that computes it."""
    window = world.window("heads")
    window.wait_for(lambda s: len(s["view"].get("strategies", [])) == 5 and not s["busy"], "the owners under five strategies")
    sums = [sum(one["tiles_by_rank"]) for one in window.view["strategies"]]
    assert all(abs(s - sums[0]) < 1e-6 * sums[0] for s in sums), sums
    assert all(one["redundant"] == 0 for one in window.view["strategies"])
    pictures = lambda: len([i for i in window.items if i["path"].endswith("/picture")])
    assert pictures() == 5
    window.click("heads/main/owner", "checkbox")
    assert pictures() < 5
    window.click("heads/main/owner", "checkbox")
    for place in (0.05, 0.2, 0.35):  # until one is attended
        window.click("panel ring/picture", at=(place, place))
        assert "tile=" in window.link and "of=ring" in window.link
        if all("owners" in one for one in window.view["strategies"]):
            break
    told = {one["strategy"]: one["owners"] for one in window.view["strategies"]}
    assert len(told) == 5 and all(told.values()), told
    owner = told["ring"][0]
    assert f"rank {owner['rank']}, ring step {owner['ring_step']}" in window.details, window.details
    row = next(i for i in window.items if i["path"].startswith("details/") and i["kind"] == "link" and i["text"].startswith("ring"))
    window.click(row["path"])
    assert "#timeline" in window.link and f"op={owner['op']}" in window.link, window.link


def heads_owners_with_replicas(world):
    """Where every rank holds all of the text, its rows are computed by all of them: 4 of 20 blocks, behind the 16 of the
    picture, of which a rank has 4."""
    blocks, text, ranks = 20, 4, 4
    path = world.run("replicated.db", "model.preset=flux.1-dev", "model.grid=1,32,32", "model.text_tokens=256", "cluster.ranks=4",
                     'run.strategies=["allgather_kv"]', "run.layers=1", "run.denoise_steps=1", "run.text=replicate")
    window = world.open(f"{path}#heads?head=3")
    window.wait_for(lambda s: s["view"].get("strategies") and not s["busy"], "the owners")
    one, = window.view["strategies"]
    assert window.view["blocks"] == blocks and one["redundant"] == text * blocks, one
    whole = world.json_of("mask", "info", path, "--json")["owners"][0]
    assert whole["redundant"] == text * blocks * 24, whole
    for q, owners in ((2, [0]), (7, [1]), (17, list(range(ranks)))):
        window.click("panel allgather_kv/picture", at=(3.5 / blocks, (q + 0.5) / blocks))
        assert f"tile={q},3" in window.link or f"tile={q}%2C3" in window.link, window.link
        told = window.view["strategies"][0]["owners"]
        assert [o["rank"] for o in told] == owners and all(abs(o["area"] - 1) < 1e-6 for o in told), (q, told)
        said = [i["text"] for i in window.items if i["path"].startswith("details/") and i["kind"] == "link"]
        assert len(said) == len(owners) and all(f"rank {r}, ring step" in t for r, t in zip(owners, said)), said
    window.close()


def balance_what_if(world):
    """Each edit is a ghost with its makespan and the change that `explain` gives, of a run whose stored makespan is none
    of the model's; that is said, too."""
    path, repeat = world.executed, 2
    window = world.open(f"{path}#balance?layer=0&step=0&repeat={repeat}")
    window.wait_for(lambda s: any("/what if" in i["path"] and i["kind"] == "mark" for i in s["items"]) and not s["busy"], "the edits")
    told = {s["id"]: s for s in world.json_of("explain", path, "--layer", 0, "--step", 0, "--repeat", repeat, "--json")["strategies"]}
    for one in window.view:
        of = told[one["strategy"]]
        assert one["makespan_ns"] == of["makespan_ns"] and one["repeat"] == of["repeat"], (one, of["repeat"])
        assert [(e["edit"], e["makespan_ns"], e["change_ns"]) for e in one["what_if"]] == [
            (e["edit"], e["makespan_ns"], e["makespan_ns"] - of["edits"][0]["makespan_ns"]) for e in of["edits"]], one
        assert one["unchanged"] == of["unchanged"] and of["edits"][0]["makespan_ns"] != of["makespan_ns"], of["unchanged"]
    marks = {i["path"].split("what if/")[1]: int(i["text"]) for i in window.items if "/what if/" in i["path"] and i["kind"] == "mark"}
    shown = next(s for s in told.values() if s["makespan_ns"] == marks["as it is"])
    assert {e["text"]: e["makespan_ns"] for e in shown["edits"][1:]}.items() <= marks.items(), (marks, shown["edits"])
    assert window.says(shown["unchanged"]), shown["unchanged"]
    window.close()


def sixty_seconds(world):
    """From an empty start over a stored run to the heads that make a strategy wait and to the comparison, in four clicks: a line names
    each next step until it was taken."""
    settings = world.folder / "sixty.json"
    settings.write_text(json.dumps({"recent": [str(world.demo)]}))
    window = world.open("--settings", settings)
    bare = window.item("start/main/demo")["disabled"]  # a build without demo.db
    window.click("start/main/" + (str(world.demo) if bare else "demo"))

    def next_step(words, view):
        hint = next(t for t in window.texts() if t.startswith("Next: " + words))
        window.click("hint/action")
        window.wait_for(lambda s: f"#{view}" in s["link"] and not s["busy"], view)
        return hint
    window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the overview")
    hint = next_step("see how ", "timeline")
    strategy, rank = (window.link.split(f"{part}=")[1].split("&")[0] for part in ("of", "rank"))
    assert hint.startswith(f"Next: see how {strategy} ") and hint.endswith(f" for rank {rank}."), (hint, window.link)
    assert f"rank {rank} of " in " ".join(window.texts())
    next_step(f"see which heads make rank {rank} ", "heads")
    window.wait_for(lambda s: s["view"].get("ranks_of_heads") and s["view"]["density"] and not s["busy"], "its heads")
    ranks, density = window.view["ranks_of_heads"], window.view["density"]
    mine = [d for d, of_head in zip(density, ranks) if int(rank) in of_head]
    assert mine and sum(mine) / len(mine) > sum(density) / len(density), "the heads of the late rank are denser than the mean"
    assert int(rank) in ranks[window.view["head"]], "one of its heads is shown large"
    said = window.details
    assert f"others wait for rank {rank}" in said and "more tiles than the mean" in said, said
    next_step("see why ", "compare")
    assert window.view["to"] == window.link.split("of=")[1].split("&")[0] and window.view["from_ns"] < window.view["to_ns"], window.link
    for view in ("overview", "timeline", "heads"):
        window.click("rail/views/" + view)
        assert not window.has("hint/action"), view
    window.close()
    assert [hint.split()[0] for hint in json.loads(settings.read_text())["used_hints"]] == ["overview", "timeline", "heads"]
