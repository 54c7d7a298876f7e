"""Bands of the timeline: the ghost of a what-if, and how times are drawn, which is looked at on the screen itself. gui.md
2 and 4."""
from features_timeline import _ns
from window import Display, Window, pixels_of_screen
from world import axis, select_op

SIZE = (1100, 900)
EVEN = "attention evenly spread over ranks"


# -- the ghost of a what-if

def _ghost(window, edit):
    """The band with a ghost of this edit, once it is there."""
    def there(state):
        return next((b for b in state["view"]["bands"] if b.get("ghost", {}).get("edit") == edit and not state["busy"]), None)
    return window.wait_for(there, f"the ghost of {edit}")


def _marks(window, scope, rank):
    """Operations of a rank: (number, part) and rectangle."""
    prefix = f"/{scope}/rank {rank} op "
    return {tuple(map(int, i["path"].split(prefix)[1].split())): i for i in window.items if i["kind"] == "mark" and prefix in i["path"]}


def balance_what_if_is_a_ghost_band(world):
    """A click on a what-if of Balance draws its schedule below the band, on its axis: ranks that attend evenly end together, and
    each operation tells both of its times. Another edit, none. (The times themselves: planted_dump_test.cpp.)"""
    window = world.open(f"{world.demo}#balance?of=ulysses")
    window.wait_for(lambda s: window.find("show " + EVEN, "row") and not s["busy"], "the edits")
    window.click("show " + EVEN)
    assert "#timeline" in window.link and "whatif=ulysses,evenly_spread" in window.link, window.link
    band = _ghost(window, "evenly_spread")
    ghost, told = band["ghost"], {r["rank"]: r for r in band["ranks"]}
    attends = []
    for row in ghost["ranks"]:
        stored, edited = _marks(window, "band ulysses", row["rank"]), _marks(window, "ghost ulysses", row["rank"])
        (op, part), mark = max(edited.items(), key=lambda m: m[1]["rect"][2] - m[1]["rect"][0])
        assert mark["text"] == "attend" and part == 0 and stored[op, part]["text"] == "attend"
        assert abs(mark["rect"][0] - stored[op, part]["rect"][0]) < 1, "both begin when the keys are there, on one axis"
        longer = stored[op, part]["rect"][2] - mark["rect"][2]
        assert (longer > 0) == (told[row["rank"]]["compute_ns"] > row["compute_ns"]), (row, longer)
        attends.append(mark["rect"][2])
    assert max(attends) - min(attends) < 1, attends
    change = window.item("ghost ulysses/change", "mark")
    begin, end = axis(window)
    area = window.item("bands/area")["rect"]
    x = lambda ns: area[0] + (ns - begin) / (end - begin) * (area[2] - area[0])
    assert abs(change["rect"][0] - x(ghost["makespan_ns"])) < 2 and abs(change["rect"][2] - x(band["makespan_ns"])) < 2, change["rect"]
    assert any(t.startswith("modelled: ") and "less than as it was" in t for t in window.texts()), window.texts()
    # Under the pointer and when selected: as it was, and as it would be.
    rank = max(told, key=lambda rank: told[rank]["compute_ns"])
    op, mark = next((op, mark) for (op, part), mark in _marks(window, "ghost ulysses", rank).items() if part == 0 and mark["text"] == "attend")
    window.hover(mark["path"], first=True)
    said = window.tooltip
    assert "attend" in said and "modelled: " + EVEN in said and any(t.startswith(f"rank {rank}, ") for t in said), said
    was = next(t for t in said if t.startswith("as it was: "))
    window.click(mark["path"], first=True)
    assert f"op={op}" in window.link and f"rank={rank}" in window.link
    selected = _ghost(window, "evenly_spread")["ghost"]["selected"]
    shown = _ns(was.split(" from ")[1].replace(" ", ""))  # three digits of it
    assert selected["op"] == op and abs(selected["stored"]["begin_ns"] / shown - 1) < 0.005, (selected, was)
    details = [i["text"] for i in window.items if i["path"] == "details/pane"]
    assert details.count("duration") == 2 and "modelled: " + EVEN in details, details
    both = [i for i in window.items if i["kind"] == "mark" and i["selected"] and f"rank {rank} op {op} " in i["path"]]
    assert {i["path"].split("/")[-2] for i in both} == {"band ulysses", "ghost ulysses"}, [i["path"] for i in both]
    window.choose("ghost ulysses/edit", "edit/no latency")
    assert "whatif=ulysses,no_latency" in window.link and _ghost(window, "no_latency")
    window.click("ghost ulysses/remove")
    assert "whatif" not in window.link and not any("ghost" in b for b in window.view["bands"]) and not window.has("ghost ulysses/edit")
    window.close()


def ghost_of_nothing_changed(world):
    """Of an executed run, whose network was measured, nothing changed is what the model makes of it, which is called modelled."""
    path = world.executed
    strategy, = world.sql(path, "select id from strategy limit 1")[0]
    explained = next(s for s in world.json_of("explain", path, "--layer", 0, "--step", 0, "--json")["strategies"] if s["id"] == strategy)
    window = world.open(f"{path}#timeline?layer=0&step=0&s={strategy}&whatif={strategy},none")
    band = _ghost(window, "none")
    assert band["makespan_ns"] == explained["makespan_ns"] and band["ghost"]["makespan_ns"] == explained["edits"][0]["makespan_ns"]
    assert any(t.startswith("modelled: ") and ", stored are " in t for t in window.texts()), window.texts()
    window.choose("ghost " + strategy + "/edit", "edit/no latency")
    _ghost(window, "no_latency")
    assert any(t.startswith("modelled: ") and "scheduled anew and unchanged" in t for t in window.texts()), window.texts()
    window.close()


# -- how times are drawn

class Screen:
    """A window on a display of its own, whose pixels can be looked at."""

    def __init__(self, world, place, name):
        self.folder = world.folder / ("screen " + name)
        self.folder.mkdir()
        self.display = Display((SIZE[0] + 100, SIZE[1] + 50), options=["-fbdir", str(self.folder)])
        self.window = Window(self.display, place, program=world.program, size=SIZE, folder=self.folder / "window")

    def pixels(self):
        """Rows of R, G, B bytes, with nothing under the pointer."""
        before = self.window.read()
        self.window._xdotool("mousemove", SIZE[0] + 50, SIZE[1] + 20)
        self.window.settle(before)
        return pixels_of_screen(self.folder / "Xvfb_screen0", *SIZE)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        self.window.kill() if failed else self.window.close()
        self.display.close()


def _line(rows, y, left, right):
    """Colours of the pixels of a line."""
    row = rows[round(y)]
    return [tuple(row[3 * x:3 * x + 3]) for x in range(round(left), round(right))]


def _widest(window, prefix, *parts):
    marks = [i for i in window.items if i["kind"] == "mark" and prefix in i["path"] and int(i["path"].split()[-1]) in parts]
    return max(marks, key=lambda i: i["rect"][2] - i["rect"][0])["rect"]


def _behind_the_label(rect):
    """The right half of a rectangle: labels stand at its left."""
    left, top, right, bottom = rect
    return (left + right) / 2, top, right, bottom


def modelled_times_are_hatched(world):
    """Slanted lines over what a simulated run computed and moved, none over that of an executed one, which was measured;
    and over those of a ghost."""
    path = world.executed
    strategy, op = world.sql(path, "select strategy.id, op_id from event join run using (run_id) join strategy using (strategy_id) where "
                             "event.rank = 0 and layer = 0 and denoise_step = 0 and category <> 'transfer' order by end_ns - begin_ns desc")[0]
    for place, scope, hatched in ((f"{world.demo}#timeline?s=ulysses", "band ulysses", True),
                                  (f"{path}#timeline?layer=0&step=0&s={strategy}&of={strategy}&rank=0&op={op}", f"band {strategy}", False),
                                  (f"{world.demo}#timeline?s=ulysses&whatif=ulysses,evenly_spread", "ghost ulysses", True)):
        with Screen(world, place, scope + str(hatched)) as screen:
            window = screen.window
            window.wait_for(lambda s: any(f"/{scope}/rank 0 op " in i["path"] for i in s["items"]) and not s["busy"], scope)
            if scope.startswith("ghost"):
                window.reach(f"{scope}/rank 0", "row")
            window.click("timeline/main/critical path")  # its line lies over the rows
            if not hatched:
                window.press("Z")  # to the selected operation: waits of threads that share few cores can leave it a few pixels
            left, top, right, bottom = _behind_the_label(_widest(window, f"/{scope}/rank 0 op ", 0, 2))
            rows = screen.pixels()
            above = round(top) + 3  # of the label
            lines = [_line(rows, y, left + 2, right - 3) for y in (above - 1, above, above + 1)]
            if not hatched:
                assert all(len(set(line)) == 1 for line in lines), [set(line) for line in lines]
                continue
            # Lines a few pixels apart, each further to the left the lower.
            for line in lines:
                common = max(set(line), key=line.count)
                assert len(set(line)) > 1 and 0.3 < line.count(common) / len(line) < 0.95, (scope, line[:40])
            assert len(set(map(tuple, lines))) == 3


def late_peer_is_hollow_and_dotted(world):
    """A wait is a box with an edge, next to nothing inside, and dots at its foot."""
    with Screen(world, f"{world.demo}#timeline?s=ulysses", "late") as screen:
        window = screen.window
        window.click("timeline/main/critical path")
        wait, attend = (_widest(window, "/band ulysses/rank 7 op ", part) for part in (1, 0))
        rows = screen.pixels()
        left, top, right, bottom = wait
        edge = _line(rows, top, left + 4, right - 4)
        assert len(set(edge)) == 1, set(edge)
        color = edge[0]
        l, t, r, b = _behind_the_label(wait)
        inside = _line(rows, (t + b) / 2 - 3, l, r - 4)
        surface = _line(rows, (t + b) / 2, right + 200, right + 201)[0]
        distance = lambda a, b: sum(abs(x - y) for x, y in zip(a, b))
        assert len(set(inside)) == 1 and distance(inside[0], surface) < distance(inside[0], color), (inside[0], surface, color)
        feet = [_line(rows, y, l, r - 4) for y in range(round(bottom) - 6, round(bottom) - 1)]
        dots = max(([i for i in range(1, len(f)) if f[i] != inside[0] and f[i - 1] == inside[0]] for f in feet), key=len)
        assert len(dots) > 5 and 4 < (dots[-1] - dots[0]) / (len(dots) - 1) < 7, dots
        full = _line(rows, (attend[1] + attend[3]) / 2, (attend[0] + attend[2]) / 2, attend[2] - 4)
        assert all(distance(p, surface) > distance(p, inside[0]) for p in full), "an attend is full"


def timeline_twins_stand_out(world):
    """Of the selected operation the twin, the operation of the same name and rank, has an outline in each other band, and
    no other operation has."""
    with Screen(world, f"{world.demo}#timeline?s=ulysses,dbsp,cyclic", "twins") as screen:
        window = screen.window
        window.click("timeline/main/critical path")
        before = screen.pixels()
        select_op(window, "ulysses", 2)
        after = screen.pixels()
        changed = lambda rect: any(a != b for a, b in zip(_line(before, rect[1], rect[0] + 2, rect[2] - 3), _line(after, rect[1], rect[0] + 2, rect[2] - 3)))
        seen = []
        for strategy in ("dbsp", "cyclic"):
            for rank in (1, 2, 3):
                for (op, part), mark in _marks(window, f"band {strategy}", rank).items():
                    left, top, right, bottom = mark["rect"]
                    if right - left < 12 or bottom > mark["clip"][3]:
                        continue
                    twin = rank == 2 and mark["text"] == "attend"
                    assert changed(mark["rect"]) == twin, (strategy, rank, op, mark["text"], mark["rect"])
                    seen.append((strategy, twin))
        assert {(s, True) for s in ("dbsp", "cyclic")} <= set(seen) and {(s, False) for s in ("dbsp", "cyclic")} <= set(seen), seen


def at_most_8_messages_are_drawn(world):
    """An all-to-all of 8 ranks has 7 messages out and 7 in: 8 have an arrow, all are listed, each once, and lead to their rank."""
    window = world.open(f"{world.demo}#timeline?s=ulysses")
    select_op(window, "ulysses", 2, "exchange kv")
    band = window.view["bands"][0]
    arrows = [a for a in band["selected"]["arrows"] if not a["to_late"]]
    assert len(arrows) == 8 == len({(a["from_rank"], a["to_rank"]) for a in arrows}), arrows
    assert all(2 in (a["from_rank"], a["to_rank"]) for a in arrows), arrows
    listed = {}
    for _ in range(40):  # the pane of details scrolls
        listed.update((i["text"], i["path"]) for i in window.items if "/message " in i["path"] and i["kind"] == "link")
        if len(listed) >= 14:
            break
        window.wheel(max(listed.values(), key=lambda path: int(path.split("/message ")[1])), up=False)
    ways = sorted(t.split(":")[0] for t in listed)
    assert ways == sorted(f"{way} rank {r}" for way in ("to", "from") for r in range(8) if r != 2), ways
    message, path = list(listed.items())[-1]
    window.click(path)
    assert f"rank={message.split('rank ')[1].split(':')[0]}" in window.link, (message, window.link)
    window.close()


def balance_maps_are_lighter_where_figures_are_larger(world):
    with Screen(world, f"{world.demo}#balance", "balance") as screen:
        cells = sorted((i for i in screen.window.items if "/cell " in i["path"] and i["kind"] == "mark"), key=lambda i: float(i["text"]))
        rows = screen.pixels()
        light = []
        for left, top, right, bottom in (cells[0]["rect"], cells[-1]["rect"]):
            middle = (left + right) / 2
            light.append(sum(_line(rows, (top + bottom) / 2, middle, middle + 1)[0]))
        assert light[0] < light[1], (light, cells[0], cells[-1])
