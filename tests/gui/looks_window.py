"""What only a real window shows, in both themes: popups, dialogs, a question under way, a file that grew while it was open,
a run that goes on, and the question what becomes of it.
"""
import itertools
import shutil

from damaged import grow, half
from features_frame import LONG_QUESTION
from looks import violations
from looks_states import SCALES, SIZES
from run_place import live, place_of, start_run

# Sizes and scales of the window; that of every run of the tests has room for all that is clicked.
USUAL = [("1440x900", 1)]
WHOLE = list(itertools.product(SIZES, SCALES))


class Looks:
    """Frames of windows at one size and scale, and what is wrong with them."""

    def __init__(self, world, size, scale, found):
        self.world, self.found, self.frames = world, found, 0
        self.place = f"{size}, scale {scale}"
        self.options, self.size = ("--scale", scale), tuple(map(int, size.split("x")))

    def open(self, *arguments):
        return self.world.open(*arguments, *self.options, size=self.size)

    def judge(self, window, what, moving=False):
        """What is `moving` draws frames by itself; two later it is known what scrolls."""
        if moving:
            first = window.state["frame"]
            window.wait_for(lambda s: s["frame"] > first + 2, "frames of what goes on")
        self.frames += 1
        theme = window.state["theme"]
        self.found.extend((f"window, {what}, {theme}, {self.place}", v) for v in violations(window.items, window.state["scale"]))

    def in_both_themes(self, window, what, moving=False):
        for _ in range(2):
            self.judge(window, what, moving)
            window.press("Ctrl+Shift+L", rest=False)


def popups(looks):
    window = looks.open(looks.world.demo)
    window.press("Ctrl+Shift+T")  # the table of the timeline
    for _ in range(2):
        window.press("Ctrl+1")
        for key, what in (("?", "keys"), ("Ctrl+Shift+P", "commands"), ("Ctrl+P", "places")):
            window.press(key)
            looks.judge(window, what)
            window.press("Escape")
        for view, names in (("Ctrl+1", ("rail/views/menu", "table/tools")),
                            ("Ctrl+2", ("scope/strategies", "scope/layer", "scope/step", "events/columns", "events/copy", "timeline/main/order"))):
            window.press(view)
            for name in names:
                window.click(name)
                looks.judge(window, name)
                window.press("Escape")
        window.press("Ctrl+Shift+L")
    window.close()


def question_under_way(looks):
    window = looks.open(f"{looks.world.demo}#sql")
    window.ask(LONG_QUESTION, rest=False)
    window.wait_for(lambda s: window.has("sql/main/cancel"), "the question is under way")
    looks.in_both_themes(window, "a question under way")
    window.click("sql/main/cancel", rest=False)
    window.wait_for(lambda s: not s["busy"], "it ends")
    window.close()


def grown_file(looks):
    path = looks.world.folder / "grown.db"
    half(looks.world.demo, path)
    window = looks.open(path)
    grow(looks.world.demo, path)
    window.wait_for(lambda s: window.has("changed/action"), "the file has grown")
    window.rest()
    looks.in_both_themes(window, "a file that has grown")
    window.close()
    path.unlink()


def running(looks):
    with place_of(looks.world, "looks") as place:
        window = place.window(options=looks.options, size=looks.size)
        start_run(window, "steps", "looks.db")
        live(window, 500)
        looks.in_both_themes(window, "a run that goes on", moving=True)
        window.press("Ctrl+Q", rest=False)
        window.wait_for(lambda s: window.has("quit/leave"), "the question")
        looks.judge(window, "what becomes of the run")
        window.click("quit/cancel", rest=False)
        window.wait_for(lambda s: not window.has("quit/leave"), "no question")
        window.click("shown/stop", rest=False)
        place.none_is_left()
        window.wait_for(lambda s: window.has("shown/open"), "Open")
        window.rest()
        looks.in_both_themes(window, "a run that was stopped")
    shutil.rmtree(place.folder)


def in_windows(world, whole, found):
    """The number of frames."""
    frames = 0
    for size, scale in WHOLE if whole else USUAL:
        looks = Looks(world, size, scale, found)
        for scene in (popups, question_under_way, grown_file, running):
            scene(looks)
        frames += looks.frames
    return frames
