"""What is wrong with the looks of a frame, found in its dump: no text wider than its clip without ellipsis and tooltip,
no overlapping targets, targets that can be reached and have at least 20 pixels, text with 4.5:1 (large text 3:1), marks
with 3:1.
"""
from window import seen

LEAST_TARGET = 20  # pixels of the design
SLACK = 1.0        # pixels: rectangles end between pixels


def _channel(value):
    c = value / 255
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def luminance(color):
    return 0.2126 * _channel(int(color[0:2], 16)) + 0.7152 * _channel(int(color[2:4], 16)) + 0.0722 * _channel(int(color[4:6], 16))


def contrast(a, b):
    """WCAG 2, section 1.4.3: 1 to 21."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def is_seen(item, least=SLACK):
    left, top, right, bottom = seen(item)
    return right - left > least and bottom - top > least


def _texts(items):
    for i in items:
        if i["kind"] != "text" or not i["text"].strip() or not is_seen(i):
            continue
        least = 3 if i["large"] else 4.5
        if (found := contrast(i["ink"], i["back"])) < least - 0.005:
            yield f"{i['path']}: {i['text'][:40]!r}: contrast {found:.2f} of {i['ink']} on {i['back']}, wanted {least}"
        if i["elided"] and not i["tooltip"]:
            yield f"{i['path']}: {i['text'][:40]!r} is cut and no tooltip has it"
        if i["rect"][2] > i["clip"][2] + SLACK and not i["scrolls_x"]:
            yield f"{i['path']}: {i['text'][:40]!r} ends {i['rect'][2] - i['clip'][2]:.0f} px beyond its clip"
        if i["rect"][0] < i["clip"][0] - SLACK and not i["scrolls_x"]:
            yield f"{i['path']}: {i['text'][:40]!r} begins {i['clip'][0] - i['rect'][0]:.0f} px before its clip"
        if i["rect"][3] > i["clip"][3] + 2 * SLACK and not i["scrolls_y"]:
            yield f"{i['path']}: {i['text'][:40]!r} is cut {i['rect'][3] - i['clip'][3]:.0f} px below"


def _marks(items):
    for i in items:
        if i["kind"] == "mark" and i["ink"] != "000000" and is_seen(i) and (found := contrast(i["ink"], i["back"])) < 3:
            yield f"{i['path']}: contrast {found:.2f} of the mark {i['ink']} on {i['back']}, wanted 3"


def _sizes(items, scale):
    for i in items:
        if not i["target"]:
            continue
        width, height = i["rect"][2] - i["rect"][0], i["rect"][3] - i["rect"][1]
        if min(width, height) < LEAST_TARGET * scale - SLACK:
            yield f"{i['path']}: a target of {width / scale:.0f} x {height / scale:.0f} px at scale 1, wanted {LEAST_TARGET}"
        beyond_x = i["rect"][2] > i["clip"][2] + SLACK or i["rect"][0] < i["clip"][0] - SLACK
        beyond_y = i["rect"][3] > i["clip"][3] + SLACK or i["rect"][1] < i["clip"][1] - SLACK
        if (beyond_x and not i["scrolls_x"]) or (beyond_y and not i["scrolls_y"]):
            yield f"{i['path']}: the target {[round(x) for x in i['rect']]} leaves its clip {[round(x) for x in i['clip']]}, which does not scroll"


def _inside(inner, outer):
    return (inner[0] >= outer[0] - SLACK and inner[1] >= outer[1] - SLACK and inner[2] <= outer[2] + SLACK and
            inner[3] <= outer[3] + SLACK)


def _overlaps(items):
    """Pairs of one layer that share more than a border; one inside another, as a link in a row, is meant."""
    targets = [(seen(i), i) for i in items if i["target"] and is_seen(i)]
    targets.sort(key=lambda t: t[0][1])
    for n, (a, one) in enumerate(targets):
        for b, other in targets[n + 1:]:
            if b[1] >= a[3]:
                break
            if one["layer"] != other["layer"]:
                continue
            wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            if wide > SLACK and high > SLACK and not _inside(a, b) and not _inside(b, a):
                yield f"{one['path']} and {other['path']} overlap by {wide:.0f} x {high:.0f} px"


def violations(items, scale):
    return [*_texts(items), *_marks(items), *_sizes(items, scale), *_overlaps(items)]
