"""The view Heads, and the way to it from an empty start: gui.md 4."""
import json

from world import ROOT, views


def heads_thumbnails(world):
    """All heads are there; their mean density is that of the layer pass."""
    window = world.window("heads")
    window.wait_for(lambda s: s["view"].get("density") and not s["busy"], "the thumbnails")
    density = window.view["density"]
    (stored,), = world.sql(world.demo, "select density from run join strategy using (strategy_id) where strategy.id = 'ulysses' "
                           "and layer = 0 and denoise_step = 0")
    assert len(density) == 40 and abs(sum(density) / len(density) - stored) < 1e-3, (sum(density) / len(density), stored)
    shown = [i for i in window.items if "/grid/head " in i["path"] and i["kind"] == "picture"]
    assert shown and all(float(i["value"]) == density[int(i["text"].split()[1])] for i in shown)


def _in_reading_order(window):
    shown = [i for i in window.items if "/grid/head " in i["path"] and i["kind"] == "picture"]
    return [int(i["text"].split()[1]) for i in sorted(shown, key=lambda i: (round(i["rect"][1]), i["rect"][0]))]


def heads_sorted(world):
    window = world.window("heads")
    density, owner = window.view["density"], window.view["owner_of_head"]
    for order, key in (("by density", lambda h: -density[h]), ("by owner", lambda h: owner[h]), ("by head", lambda h: h)):
        window.click("heads/main/order", "choice")
        window.click("order/" + order)
        shown = _in_reading_order(window)
        assert [key(h) for h in shown] == sorted(key(h) for h in shown) and window.view["order"][:len(shown)] == shown, (order, shown)


def heads_one_large(world):
    window = world.window("heads")
    window.click("grid/head 3")
    assert "head=3" in window.link and window.view["head"] == 3
    window.wait_for(lambda s: "row_loads" in s["view"] and not s["busy"], "the mask of the head")
    rows, columns, blocks = window.view["row_loads"], window.view["column_loads"], window.view["blocks"]
    assert sum(rows) == sum(columns) and len(rows) == len(columns) == blocks
    assert abs(sum(rows) / blocks ** 2 - window.view["density"][3]) < 0.02


def heads_slide_over_steps(world):
    window = world.window("heads")
    before = window.view["density"]
    window.click("heads/main/denoise step", "slider", at=(0.99, 0.5))
    assert "step=2" in window.link
    window.wait_for(lambda s: not s["busy"] and s["view"].get("density") not in (None, before), "the heads of another step")
    window.click("heads/main/layer", "slider", at=(0.99, 0.5))
    assert "layer=1" in window.link
    window.press("Alt+Left", "Alt+Left")


def heads_difference(world):
    window = world.window("heads")
    window.click("heads/main/difference", "checkbox")
    window.click("heads/main/other step", "choice")
    window.click("other step/1")
    assert window.item("heads/main/other step", "choice")["value"] == "1"
    window.click("heads/main/difference", "checkbox")
    assert not window.has("heads/main/other step", "choice")


def heads_owners(world):
    """Each strategy computes the tiles of a head once, whoever does."""
    window = world.window("heads")
    window.wait_for(lambda s: len(s["view"].get("strategies", [])) == 5 and not s["busy"], "the owners under five strategies")
    sums = [sum(one["tiles_by_rank"]) for one in window.view["strategies"]]
    assert all(abs(s - sums[0]) < 1e-6 * sums[0] for s in sums), sums
    assert all(one["redundant"] == 0 for one in window.view["strategies"])
    pictures = [i for i in window.items if i["path"].endswith("/picture")]
    window.click("heads/main/owner", "checkbox")
    alone = [i for i in window.items if i["path"].endswith("/picture")]
    assert len(pictures) == 5 and len(alone) < 5, (len(pictures), len(alone))
    window.click("heads/main/owner", "checkbox")


def heads_tile_and_its_event(world):
    """A tile says its owners under each strategy, with one cursor, and leads to the event that computes it."""
    window = world.window("heads")
    window.wait_for(lambda s: len(s["view"].get("strategies", [])) == 5 and not s["busy"], "the owners under five strategies")
    window.click("panel ring/picture", at=(0.5, 0.02))
    assert "tile=" in window.link and "of=ring" in window.link
    told = {one["strategy"]: one["owners"] for one in window.view["strategies"]}
    assert set(told) == {"ulysses", "ring", "usp", "dbsp", "cyclic"} and all(told.values()), told
    details = " ".join(i["text"] for i in window.items if i["path"].startswith("details/"))
    owner = told["ring"][0]
    assert f"rank {owner['rank']}, ring step {owner['ring_step']}" in details, details
    row = next(i for i in window.items if i["path"].startswith("details/") and i["kind"] == "link" and i["text"].startswith("ring"))
    window.click(row["path"])
    assert "#timeline" in window.link and f"op={owner['op']}" in window.link, window.link
    window.press("Alt+Left")


def balance_what_if(world):
    """Each edit is a ghost with its makespan; a better network makes nothing longer, and a bar tells what is stored."""
    window = world.window("balance")
    window.wait_for(lambda s: any("/what if" in i["path"] and i["kind"] == "mark" for i in s["items"]) and not s["busy"], "the edits")
    edits = {i["path"].split("what if/")[1]: int(i["text"]) for i in window.items if "/what if/" in i["path"] and i["kind"] == "mark"}
    assert len(edits) >= 4 and edits["no latency"] <= edits["as it is"] >= edits["links inside nodes twice as fast"], edits
    stored = world.sql(world.demo, "select makespan_ns from repeat join run using (run_id) where layer = 0 and denoise_step = 0")
    assert (edits["as it is"],) in stored, (edits, stored)


def sixty_seconds(world):
    """From an empty start over a stored run to the heads that make a strategy wait, by what the screen offers."""
    settings = world.folder / "sixty.json"
    demo = world.run("sixty.db", (ROOT / "samples/demo.toml").read_text(encoding="utf-8"))
    settings.write_text(json.dumps({"recent": [str(demo)]}))
    window = world.open("--settings", settings)
    clicks = 1
    if window.item("start/main/demo")["disabled"]:
        window.click("start/main/" + str(demo))  # a build without demo.db: the file that was opened last
    else:
        window.click("start/main/demo")
    window.wait_for(lambda s: "#overview" in s["link"] and not s["busy"], "the overview")
    hint = next(t for t in window.texts() if t.startswith("Next: see how "))
    window.click("hint/action")
    clicks += 1
    rank = window.link.split("rank=")[1].split("&")[0]
    strategy = window.link.split("of=")[1].split("&")[0]
    assert hint.startswith(f"Next: see how {strategy} ") and hint.endswith(f" for rank {rank}."), (hint, window.link)
    assert "#timeline" in window.link and f"rank {rank} of " in " ".join(window.texts())
    window.click("details/pane/heads")
    clicks += 1
    window.wait_for(lambda s: "#heads" in s["link"] and s["view"].get("owner_of_head") and not s["busy"], "its heads")
    owner, density = window.view["owner_of_head"], window.view["density"]
    mean = sum(density) / len(density)
    mine = [d for d, o in zip(density, owner) if o == int(rank)]
    assert mine and sum(mine) / len(mine) > mean, "the heads of the late rank are denser than the mean"
    assert owner[window.view["head"]] == int(rank), "one of its heads is shown large"
    assert clicks <= 5 and "heads" in {v[0] for v in views()}
    window.close()
