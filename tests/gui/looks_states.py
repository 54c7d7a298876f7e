"""The states whose looks are tested without a display: files that are whole, damaged, being read, with long names and with 4,096
ranks; each with the combinations of theme, size and scale that every run of the tests looks at."""
import itertools

from damaged import UNREADABLE, foreign, plan_lost

THEMES, SIZES, SCALES = ("dark", "light"), ("1280x720", "1920x1080", "3840x2160"), (1, 1.5, 2)
MATRIX = list(itertools.product(THEMES, SIZES, SCALES))
# For states that differ from the demo in few widgets: each theme, size and scale, and the tightest of all.
FEW = [("dark", "1280x720", 1), ("light", "1280x720", 2), ("dark", "1920x1080", 1.5), ("light", "3840x2160", 2)]
SMALL, TIGHTEST = FEW[:2], FEW[1:2]
# The rooms for widgets that FEW lacks, each in one theme: a theme changes colours, and no place. Two larger ones have the room
# of others at 1.
OTHER_ROOMS = [("light", "1280x720", 1.5), ("dark", "1920x1080", 1), ("light", "1920x1080", 2), ("dark", "3840x2160", 1),
               ("light", "3840x2160", 1.5)]
# Answers that are enough to know the file, and none of what the views ask then.
FILE_KNOWN = 2


def _made(world, name, make):
    path = world.folder / name
    make(world.demo, path)
    return path


def _long_names(world):
    return world.changed_copy("r" * 200 + ".db",
                              "update strategy set label = substr(label || ' ' || replace(hex(zeroblob(150)), '00', 'Wg'), 1, 300)")


def few_states(world):
    """Of the default set: the states whose places differ most, in few combinations. The wide set leaves these out."""
    return {"demo": ([world.demo], FEW), "long names": ([_long_names(world)], SMALL)}


def stored_states(world):
    """The arguments and the combinations of each state; arguments that begin with -- are options."""
    long_name = _long_names(world)
    other = _made(world, "foreign.db", foreign)
    # Scheduled in some 10 s: a message to 63 others, and 64 ring steps.
    many = world.run("many.db", "model.preset=wan-mini", "model.heads=64", "model.head_dim=16", "model.hidden=1024", "model.grid=16,32,32",
                     "mask.pattern=dense", "cluster.preset=ndr-h100-xN", "cluster.ranks=4096", 'run.strategies=["usp:ulysses=64,ring=64"]',
                     "run.layers=1", "run.denoise_steps=1")
    return {"demo": ([world.demo], OTHER_ROOMS), "no file": ([], FEW), "long names": ([long_name], FEW[2:]),
            "failed": ([_made(world, "broken.db", UNREADABLE["page"])], SMALL), "lost plans": ([_made(world, "plans.db", plan_lost)], TIGHTEST),
            "lost thumbnails": ([world.changed_copy("thumbnails.db", "delete from mask_thumbnail")], TIGHTEST),
            "no timeline": ([world.changed_copy("figures.db", "update repeat set has_timeline = 0")], TIGHTEST),
            "partly there": ([world.partly()], TIGHTEST), "one strategy": ([f"{world.demo}?s=ring"], TIGHTEST),
            "several files": ([world.demo, long_name, other], SMALL), "4,096 ranks": ([many], FEW[:1]),
            "loading": ([world.demo, "--answers", 0], SMALL), "loading a layer pass": ([world.demo, "--answers", FILE_KNOWN], SMALL),
            "selected": ([f"{world.demo}?of=ulysses&rank=3&op=40&t=2ms..9ms&name=attend"], SMALL),
            "what if": ([f"{world.demo}?whatif=ulysses,evenly_spread&of=ulysses&rank=3&op=40"], FEW),
            "whole files": ([f"{world.demo}?time=file&of=ulysses&rank=3&op=40&name=attend", long_name], FEW),
            "observed": ([f"{world.observed()}?time=file"], FEW), "observed, near": ([f"{world.observed()}?time=file&counters=0&t=40ms..42ms"], FEW),
            "lost events": ([world.lost()], TIGHTEST),
            "whole file of 4,096 ranks": ([f"{many}?time=file"], FEW[:2])}
