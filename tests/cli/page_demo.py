"""What report-page-demo.sh asks of the page of the demo. Usage: page_demo.py PAGE WHAT_COMPARE_SAID BROWSER_FOLDER"""
import json
import sys

from browser import Browser

WIDTHS = (360, 1000, 1600)
# The figures of the summary: (heading, of a strategy of compare --json). What compare gives by rank is a mean here.
FIGURES = {
    "makespan": lambda s: s["makespan_ns"],
    "vs ulysses": lambda s: s["speedup"],
    "compute": lambda s: mean(s["compute_ns"]),
    "late peer": lambda s: mean(s["wait_late_peer_ns"]),
    "wire": lambda s: mean(s["wire_ns"]),
    "other": lambda s: mean(s["other_ns"]),
    "imbalance": lambda s: s["imbalance_ratio"],
    "barrier": lambda s: s["barrier_imbalance_ratio"],
    "sent/rank": lambda s: mean(s["bytes_sent"]),
    "end to end": lambda s: s["end_to_end_ns"],
}
CELLS = """[...document.querySelectorAll("section[id$=summary] table tbody tr:not(.aside)")].map(row =>
  Object.fromEntries([...row.cells].map(cell => [cell.dataset.column, cell.dataset.v ?? cell.firstChild.textContent])))"""
SORT = "section[id$=summary] th:nth-child(2) button.sort"
TIMES = """[...document.querySelectorAll("section[id$=summary] table tbody tr:not(.aside)")].map(row => +row.cells[1].dataset.v)"""
SHOWN = """[...document.querySelectorAll("{}")].filter(element => element.getClientRects().length > 0).length"""


def mean(numbers):
    return sum(numbers) / len(numbers)


def quiet(browser, where):
    assert not browser.said, f"{where}: the console has {browser.said}"
    assert not browser.asked, f"{where}: the page asks for {browser.asked}"


def everywhere(browser, page):
    for width in WIDTHS:
        for media, scheme in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
            where = f"{media}, {scheme}, {width} px"
            browser.open(page, width, scheme=scheme, media=media)
            quiet(browser, where)
            assert browser.tell("document.documentElement.scrollWidth") <= width, f"{where}: wider than the window"
            ink, back = browser.tell("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
            dark = media == "screen" and scheme == "dark"
            assert (lightness(ink) > 0.7 > 0.3 > lightness(back)) if dark else (lightness(ink) < 0.3 < 0.7 < lightness(back)), (where, ink, back)
            if media == "print":
                assert browser.tell(SHOWN.format("nav, .tools, button")) == 0, f"{where}: controls are printed"
                assert browser.tell(SHOWN.format("figure.masks .step .head")) == 1, f"{where}: the step of the heads is not said"


def lightness(color):
    return mean([int(part) for part in color[color.index("(") + 1:-1].split(",")[:3]]) / 255


def figures(browser, said):
    rows = browser.tell(CELLS)
    assert [r["strategy"] for r in rows] == [s["label"] for s in sorted(said["strategies"], key=lambda s: s["makespan_ns"])], rows
    compared = 0
    for row in rows:
        strategy = next(s for s in said["strategies"] if s["label"] == row["strategy"])
        for heading, of in FIGURES.items():
            wanted = of(strategy)
            # Means over ranks are whole nanoseconds and bytes.
            assert abs(float(row[heading]) - wanted) <= max(1, 1e-9 * abs(wanted)) * (heading not in ("vs ulysses", "imbalance", "barrier")) + 1e-9, \
                (row["strategy"], heading, row[heading], wanted)
            compared += 1
    assert compared == 5 * len(FIGURES)


def used(browser, page):
    """As people do: by the pointer, the wheel and keys."""
    browser.open(page, 1000)
    up = sorted(browser.tell(TIMES))
    browser.click("section[id$=summary] th:nth-child(4) button.sort")
    assert browser.tell(TIMES) != up, "sorting by compute leaves the order of makespans"
    browser.click(SORT)
    assert browser.tell(TIMES) == up
    browser.click(SORT)
    assert browser.tell(TIMES) == up[::-1]
    # The late rank, pointed at in the timeline, is lit there alone; a strategy of a bar in its row of the table, too.
    browser.hover("figure.timeline g[data-s=ulysses][data-r='5'] rect")
    lit = browser.tell("[...document.querySelectorAll('figure.timeline svg.lanes g.lit')].map(g => [g.dataset.s, g.dataset.r])")
    assert lit == [["ulysses", "5"]], lit
    browser.hover(".rows .row[data-s=ring] svg.bar")
    assert browser.tell("document.querySelectorAll('tr[data-s=ring].lit').length") >= 1
    assert browser.tell("[...document.querySelectorAll('figure.timeline svg.lanes g.lit')].length") == 8
    # The wheel with Ctrl zooms the timeline, a key shows all again; the page itself does not scroll away.
    width = "document.querySelector('figure.timeline svg.lanes').getBoundingClientRect().width"
    before = browser.tell(width)
    browser.wheel("figure.timeline svg.lanes", -100, ctrl=True)
    assert abs(browser.tell(width) / before - 1.25) < 0.01
    browser.tell("document.querySelector('figure.timeline .pan').focus()")
    browser.press("0", "Digit0", 48)
    assert abs(browser.tell(width) / before - 1) < 0.01
    # Steps by the keys of the slider, owners by a click.
    step = "document.querySelector('figure.masks .step:not([hidden])').dataset.label"
    browser.tell("document.querySelector('figure.masks input[type=range]').focus()")
    browser.press("Home", "Home", 36)
    first = browser.tell(step)
    browser.press("ArrowRight", "ArrowRight", 39)
    assert (first, browser.tell(step)) == ("denoise step 0", "denoise step 1")
    browser.click("figure.masks .pick label:nth-of-type(5)")
    assert browser.tell(SHOWN.format("figure.masks .step:not([hidden]) use.own")) == 40
    # Cards have no headings: they are sorted by the choice above, which a wide window does not show.
    choice = "section[id$=summary] .sort-by select"
    assert browser.tell(SHOWN.format(".sort-by select")) == 0
    browser.open(page, 360)
    assert browser.tell(SHOWN.format(choice)) == 1
    browser.tell(f"document.querySelector('{choice}').focus()")
    for times in (up, up[::-1]):
        value = "1u" if times == up else "1d"
        browser.tell(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('{choice}'))")
        assert browser.tell(TIMES) == times
    quiet(browser, "in use")


def without_scripts(browser, page):
    browser.open(page, 1000, scripts=False)
    assert browser.tell(SHOWN.format("button, input:not([type=radio])")) == 0
    assert browser.tell(SHOWN.format("figure.masks .step")) == 3 and browser.tell(SHOWN.format("figure.timeline svg.lanes")) == 5
    quiet(browser, "without scripts")


def main(page, said, folder):
    with open(said, encoding="utf-8") as file:
        result = json.load(file)
    with Browser(folder) as browser:
        everywhere(browser, page)
        browser.open(page)
        figures(browser, result)
        used(browser, page)
        without_scripts(browser, page)


if __name__ == "__main__":
    main(*sys.argv[1:])
