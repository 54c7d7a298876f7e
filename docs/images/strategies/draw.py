"""Draws the pictures of docs/strategies.md, one SVG a strategy beside this file, from the rules that place the work.

Run it without arguments. Standard library alone; the same rules give the same bytes. Four ranks, by colour and by the
number in each cell; a cell is a head (or channels, a frame, a query block) by a block of tokens.
"""
from pathlib import Path

RANKS, BLOCKS = 4, 8
FILLS = ("#E69F00", "#56B4E9", "#2FB68E", "#DD9BC1")  # after Okabe and Ito: told apart by colour-blind readers
EVERY_RANK = "all"
CELL, PANEL, GAP, MARGIN = 20, 204, 112, 14
LABELS = PANEL - BLOCKS * CELL
WIDTH = 3 * PANEL + 2 * GAP + 2 * MARGIN


# -- who holds what ---------------------------------------------------------------------------------------------------
def even(count, groups):
    """Group of each index: neighbours, group sizes within one."""
    return [next(g for g in range(groups) if i < count * (g + 1) // groups) for i in range(count)]


def grid(rows, columns, rank_of):
    return [[rank_of(row, column) for column in range(columns)] for row in range(rows)]


def by_columns(rows, owners):
    return grid(rows, len(owners), lambda _, column: owners[column])


def by_rows(owners, columns):
    return grid(len(owners), columns, lambda row, _: owners[row])


def on_mesh(head_owner, block_owner, ulysses):
    """Rank = ring index x Ulysses degree + Ulysses index."""
    return grid(len(head_owner), len(block_owner), lambda h, b: block_owner[b] * ulysses + head_owner[h])


def greedy(weights, groups, reward=0.0):
    """Group of each index: the heaviest first, each to the lightest group with room; `reward` draws it home."""
    home, owner = even(len(weights), groups), [None] * len(weights)
    sums = [0] * groups
    for i in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        room = [g for g in range(groups) if owner.count(g) < home.count(g)]
        owner[i] = min(room, key=lambda g: sums[g] - (reward * weights[i] if home[i] == g else 0))
        sums[owner[i]] += weights[i]
    return owner


def snake(weights, groups):
    owner = [None] * len(weights)
    for n, i in enumerate(sorted(range(len(weights)), key=lambda i: (-weights[i], i))):
        turn, place = divmod(n, groups)
        owner[i] = place if turn % 2 == 0 else groups - 1 - place
    return owner


def ratio(weights, owner, groups):
    sums = [sum(w for w, o in zip(weights, owner) if o == g) for g in range(groups)]
    return max(sums) * groups / sum(sums)


# -- drawing ----------------------------------------------------------------------------------------------------------
class Picture:
    def __init__(self, name, title, axes="rows: heads; columns: blocks of tokens"):
        self.name, self.title, self.axes = name, title, axes
        self.parts, self.above, self.bottom = [], [], 0  # boxes and lines; numbers on them; lowest y so far
        self.text(MARGIN, 24, title, "t")

    def text(self, x, y, words, kind="", anchor="start"):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        kind = f' class="{kind}"' if kind else ""
        anchor = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{words}</text>')
        self.bottom = max(self.bottom, y + 6)

    def cells(self, x, y, owners, shown=None):
        """A box for each cell, by colour; its label is one character, and None stays empty."""
        if owners[0][0] == EVERY_RANK:
            width, height = len(owners[0]) * CELL, len(owners) * CELL
            self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#DDD" class="c"/>')
            self.text(x + width / 2, y + height / 2 + 5, "all of it at every rank", "h", "middle")
            self.bottom = max(self.bottom, y + height + 4)
            return
        boxes = {}
        for r, row in enumerate(owners):
            for c, owner in enumerate(row):
                boxes.setdefault(owner, []).append(f"M{x + c * CELL:g} {y + r * CELL:g}h{CELL}v{CELL}h-{CELL}z")
            labelled = [c for c, owner in enumerate(row) if owner is not None]
            labels = "".join(str((shown or owners)[r][c]) for c in labelled)
            if labels:
                centres = " ".join(f"{x + c * CELL + CELL / 2:g}" for c in labelled)
                self.above.append(f'<text x="{centres}" y="{y + r * CELL + 14:g}" text-anchor="middle">{labels}</text>')
        for owner, paths in boxes.items():
            fill = "#F4F4F4" if owner is None else FILLS[owner]
            self.parts.append(f'<path d="{"".join(paths)}" fill="{fill}" class="c"/>')
        self.bottom = max(self.bottom, y + len(owners) * CELL + 4)

    def panel(self, column, top, title, owners, rows, columns=None, note="", shown=None):
        """A grid under its title; labels of rows to the left, of columns above, a note below."""
        x, y = MARGIN + column * (PANEL + GAP) + LABELS, top + 38
        self.text(x - LABELS, top + 14, title, "h")
        for r, label in enumerate(rows):
            self.text(x - 5, y + r * CELL + 14, label, "s", "end")
        for c, label in enumerate(columns or range(len(owners[0]))):
            self.text(x + c * CELL + CELL / 2, y - 5, str(label), "s", "middle")
        self.cells(x, y, owners, shown)
        for n, line in enumerate(note.split("\n") if note else []):
            self.text(x - LABELS, y + len(owners) * CELL + 17 + 15 * n, line, "s")
        return y + len(owners) * CELL / 2

    def arrow(self, after_column, y, words, left=False):
        """Between two panels, with a label above and, after a blank entry, below it."""
        begin = MARGIN + after_column * (PANEL + GAP) + PANEL + 6
        end = begin + GAP - 12
        above, _, below = words.partition("\n\n")
        self.line(end if left else begin, y, begin if left else end, y)
        for n, line in enumerate(reversed(above.split("\n"))):
            self.text((begin + end) / 2, y - 8 - 14 * n, line, "s", "middle")
        for n, line in enumerate(below.split("\n") if below else []):
            self.text((begin + end) / 2, y + 18 + 14 * n, line, "s", "middle")

    def line(self, x1, y1, x2, y2):
        """A straight arrow."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 9 * ux, y2 - 9 * uy
        self.parts.append(f'<path d="M{x1:.4g} {y1:.4g}L{bx:.4g} {by:.4g}" class="a"/><path d="M{x2:.4g} {y2:.4g}L'
                          f'{bx - 5 * uy:.4g} {by + 5 * ux:.4g}L{bx + 5 * uy:.4g} {by - 5 * ux:.4g}z"/>')

    def legend(self):
        y = self.bottom + 10
        self.text(WIDTH - MARGIN, y + 14, self.axes, "s", "end")
        for rank in range(RANKS):
            x = MARGIN + rank * 84
            self.cells(x, y, [[rank]])
            self.text(x + 26, y + 14, f"rank {rank}", "s")
        self.bottom = y + CELL

    def write(self, folder):
        self.legend()
        height = int(self.bottom + 14)
        style = ("text{font:12px sans-serif;fill:#000}.t{font-size:15px;font-weight:bold}.h{font-weight:bold}"
                 ".s{fill:#222}.c{stroke:#555;stroke-width:.6}"
                 ".a{stroke:#000;stroke-width:1.6;fill:none}")
        (folder / f"{self.name}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img"><title>{self.title}</title><style>{style}</style>'
            f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>'
            + "\n".join(self.parts + self.above) + "</svg>\n", encoding="utf-8")


HEADS = ["head 0", "head 1", "head 2", "head 3"]
COLUMNS = even(BLOCKS, RANKS)  # token blocks cut into neighbours


def weighted(weights):
    return [f"h{i}: {w}" for i, w in enumerate(weights)]


def before_during_after(picture, rows, before, during, arrows, titles, note="", top=36, after=None):
    """The common shape: three panels and two arrows."""
    y = picture.panel(0, top, titles[0], before, rows)
    picture.panel(1, top, titles[1], during, rows, note=note)
    picture.panel(2, top, titles[2], before if after is None else after, rows)
    picture.arrow(0, y, arrows[0])
    picture.arrow(1, y, arrows[1])
    return y


# -- one function a strategy ------------------------------------------------------------------------------------------
def single():
    p = Picture("single", "single: heads by blocks of tokens, all at rank 0")
    everything = grid(4, BLOCKS, lambda *_: 0)
    before_during_after(p, HEADS, everything, everything, ("nothing\nmoves", "nothing\nmoves"),
                        ("Before: q, k, v", "During attention", "After: o"), "the other ranks hold nothing")
    return p


def ulysses():
    p = Picture("ulysses", "ulysses: a cut of tokens becomes a cut of heads, and back")
    before_during_after(p, HEADS, by_columns(4, COLUMNS), by_rows(even(4, RANKS), BLOCKS),
                        ("all-to-all\nof q, k, v\n\n3/4 of each\nleaves its rank",
                         "all-to-all\nof o\n\n3/4 leaves\nits rank"),
                        ("Before: q, k, v", "During attention", "After: o"), "each rank: all tokens of its heads")
    return p


# Neighbouring blocks attend to each other; the last two are text, which all attend to and which attends to all.
MASK = grid(BLOCKS, BLOCKS, lambda i, j: abs(i - j) <= 1 or max(i, j) >= 6)


def ring_mask(owner):
    """Rank of each active tile, ring step of each, and the plain and the barrier ratio."""
    ranks = [[owner[i] if active else None for active in row] for i, row in enumerate(MASK)]
    steps = [[(owner[i] - owner[j]) % RANKS for j in range(BLOCKS)] for i in range(BLOCKS)]
    work = [[sum(ranks[i][j] == r and steps[i][j] == s for i in range(BLOCKS) for j in range(BLOCKS))
             for s in range(RANKS)] for r in range(RANKS)]
    mean = sum(map(sum, work)) / RANKS
    return ranks, steps, max(map(sum, work)) / mean, sum(max(w[s] for w in work) for s in range(RANKS)) / mean


def ring():
    p = Picture("ring", "ring: rows of q stay, k and v travel; order = contiguous or cyclic",
                "above: heads by blocks; below: query blocks by key blocks")
    p.panel(0, 36, "q, k, v and o, contiguous", by_columns(4, COLUMNS), HEADS)
    p.panel(1, 36, "q, k, v and o, cyclic", by_columns(4, [b % RANKS for b in range(BLOCKS)]), HEADS)
    x, y = MARGIN + 2 * (PANEL + GAP) + 104, 104
    p.text(x, 50, "Each step: k, v one rank on", "h", "middle")
    places = [(x - 50, y - 26), (x + 50, y - 26), (x + 50, y + 34), (x - 50, y + 34)]
    for rank, (px, py) in enumerate(places):
        p.cells(px - 10, py - 10, [[rank]])
        nx, ny = places[(rank + 1) % RANKS]
        dx, dy = (nx > px) - (nx < px), (ny > py) - (ny < py)
        p.line(px + 15 * dx, py + 15 * dy, nx - 15 * dx, ny - 15 * dy)
    p.text(x, y + 8, "3 hops", "s", "middle")
    for column, (title, owner) in enumerate((("Mask tiles, contiguous", COLUMNS),
                                             ("Mask tiles, cyclic", [b % RANKS for b in range(BLOCKS)]))):
        ranks, steps, plain, barrier = ring_mask(owner)
        p.panel(column, 178, title, ranks, [f"rank {r}" for r in owner], shown=steps,
                note=f"imbalance ratio {plain:.2f},\nwith a barrier each step {barrier:.2f}")
    for n, line in enumerate(("Rows: query blocks, columns:", "key blocks. Colour: the rank", "that attends (its row says",
                              "which). Number: the ring step", "in which the keys are there.", "Empty: inactive tiles.",
                              "The last two blocks are text.")):
        p.text(MARGIN + 2 * (PANEL + GAP) + 10, 232 + 17 * n, line, "s")
    return p


def usp():
    p = Picture("usp", "usp with u2 r2: tokens over the ring, heads inside each Ulysses group")
    before_during_after(p, HEADS, by_columns(4, COLUMNS), on_mesh(even(4, 2), even(BLOCKS, 2), 2),
                        ("all-to-all in\n{0, 1}, {2, 3}\n\n1/2 of q, k, v\nleaves", "all-to-all\nof o\n\n1/2 leaves"),
                        ("Before: q, k, v", "During attention", "After: o"),
                        "one hop: ranks 0 and 2 swap their\nk and v, and so do 1 and 3")
    return p


def dbsp():
    heads, rows, columns = [9, 8, 3, 2], [21, 17, 13, 11, 7, 5, 3, 2], [2, 9, 9, 3, 4, 4, 1, 7]
    p = Picture("dbsp", "dbsp with u2 r2, reward 0: heads balanced by the all-to-all, blocks by an exchange",
                "rows: heads; columns: blocks of tokens, in 2 and 3 under their weights")
    owner, before = greedy(heads, 2), by_columns(4, COLUMNS)
    q, kv = greedy(rows, 2), greedy(columns, 2)
    y = p.panel(0, 36, "Before: q, k, v", before, HEADS)
    p.panel(1, 36, "1. Heads by weight", on_mesh(owner, even(BLOCKS, 2), 2), weighted(heads),
            note=f"heads: {ratio(heads, even(4, 2), 2):.2f} in order, {ratio(heads, owner, 2):.2f} so;\n"
                 "blocks still at home")
    p.panel(2, 36, "2. Blocks of q by weight", on_mesh(owner, q, 2), weighted(heads), rows,
            f"rows: {ratio(rows, even(BLOCKS, 2), 2):.2f} at home, {ratio(rows, q, 2):.2f} so")
    p.arrow(0, y, "all-to-all in\n{0, 1}, {2, 3}\n\n1/2 of q, k, v\nleaves")
    moved_q = sum(a != b for a, b in zip(q, even(BLOCKS, 2)))
    moved_kv = sum(a != b for a, b in zip(kv, even(BLOCKS, 2)))
    p.arrow(1, y, f"exchange in\n{{0, 2}}, {{1, 3}}\n\n{moved_q} of 8\nblocks of q")
    y = p.panel(2, 196, "3. Blocks of k, v by weight", on_mesh(owner, kv, 2), weighted(heads), columns,
                f"columns: {ratio(columns, even(BLOCKS, 2), 2):.2f} at home, {ratio(columns, kv, 2):.2f} so;\n"
                f"exchange of {moved_kv} of 8 blocks of k and of v;\nthen the ring: one hop")
    p.panel(1, 196, "4. o at home", on_mesh(owner, even(BLOCKS, 2), 2), weighted(heads),
            note="o takes the way of q, backwards")
    p.panel(0, 196, "After: o", before, HEADS)
    p.arrow(1, y, f"exchange\nback\n\n{moved_q} of 8\nblocks of o", left=True)
    p.arrow(0, y, "all-to-all\nback\n\n1/2 of o leaves", left=True)
    return p


def cyclic():
    heads = [9, 8, 3, 2]
    p = Picture("cyclic", "cyclic with u2 r2: blocks dealt in turn from the start, heads balanced")
    dealt = [b % 2 for b in range(BLOCKS)]
    before = by_columns(4, [b % 2 * 2 + b // 4 for b in range(BLOCKS)])
    y = p.panel(0, 36, "Before: q, k, v", before, HEADS,
                note="ring chunk 0: blocks 0, 2, 4, 6,\ncut among ranks 0 and 1")
    p.panel(1, 36, "During attention", on_mesh(greedy(heads, 2), dealt, 2), weighted(heads),
            note="no exchange; one hop: 0 and 2 swap\ntheir k and v, and so do 1 and 3")
    p.panel(2, 36, "After: o", before, HEADS)
    p.arrow(0, y, "all-to-all in\n{0, 1}, {2, 3}\n\n1/2 of q, k, v\nleaves")
    p.arrow(1, y, "all-to-all\nof o\n\n1/2 leaves")
    return p


def torus():
    p = Picture("torus", "torus on two nodes of two ranks, u2 r2: heads over the nodes, rings inside them")
    before = by_columns(4, COLUMNS)
    during = grid(4, BLOCKS, lambda h, b: h // 2 * 2 + COLUMNS[b] % 2)
    before_during_after(p, HEADS, before, during,
                        ("q, k and v of\nthe other node\n\n1/2 leaves\nits node", "its o\n\n1/2 leaves\nits node"),
                        ("Before: q, k, v", "During attention", "After: o"),
                        "ranks 0 and 1 are node 0; a hop inside\nthe node: 0 and 1 swap their k and v")
    p.panel(0, 178, "Rank 0, in this order", [[0, 0], [0, 0]], ["q0", "q1"], ["k0", "k1"],
            shown=[[1, 4], [2, 3]])
    for n, line in enumerate(("1. Its own rows attend to its own keys; q of node 1 is on its way.",
                              "2. Rows of node 1 attend to its own keys; k and v of node 1 are on their way.",
                              "3. Rows of node 1 attend to the keys of node 1; nothing is on its way.",
                              "4. Rows of node 1 go home, while its own rows attend to the keys of node 1.")):
        p.text(MARGIN + PANEL + 24, 226 + 17 * n, line, "s")
    return p


def snake_heads():
    heads = [40, 8, 33, 30, 21, 20, 12, 10]
    p = Picture("snake", "snake: ulysses with heads dealt by weight, there and back")
    owner = snake(heads, RANKS)
    names = [f"head {i}" for i in range(8)]
    y = p.panel(0, 36, "Before: q, k, v", by_columns(8, COLUMNS), names)
    p.panel(1, 36, "During attention", by_rows(owner, BLOCKS), weighted(heads),
            note=f"imbalance {ratio(heads, even(8, RANKS), RANKS):.2f} in order, {ratio(heads, owner, RANKS):.2f} so;\n"
                 "heaviest first: 0 1 2 3 3 2 1 0")
    p.panel(2, 36, "After: o", by_columns(8, COLUMNS), names)
    p.arrow(0, y, "all-to-all\nof q, k, v\n\n3/4 of each\nleaves its rank")
    p.arrow(1, y, "all-to-all\nof o\n\n3/4 leaves\nits rank")
    return p


def burst():
    p = Picture("burst", "burst on 2 nodes of 2 ranks: a slice of every block, rings inside nodes and between them",
                "left and right: heads by slices of blocks; middle: whose keys a rank attends when")
    slices, blocks = by_columns(4, [b % RANKS for b in range(BLOCKS)]), [b // RANKS for b in range(BLOCKS)]
    nodes = local = RANKS // 2
    keys = grid(RANKS, RANKS, lambda rank, at: (rank // local - at // local) % nodes * local + (rank - at) % local)
    y = p.panel(0, 36, "Before: q, k, v", slices, HEADS, blocks, "above: the block of the mask; each has\na slice for every rank")
    p.panel(1, 36, "Keys, by round.step", keys, [f"rank {r}" for r in range(RANKS)], ["0.0", "0.1", "1.0", "1.1"],
            "the hop between nodes runs during\nround 0, those inside during each step")
    p.panel(2, 36, "After: o", slices, HEADS, blocks)
    p.arrow(0, y, "nothing\nmoves")
    p.arrow(1, y, "nothing\nmoves")
    return p


def allgather_kv():
    p = Picture("allgather_kv", "allgather_kv: q stays, every rank gathers all of k and v")
    rows, everywhere = by_columns(4, COLUMNS), grid(4, BLOCKS, lambda *_: EVERY_RANK)
    before_during_after(p, HEADS, rows, rows, ("nothing\nmoves", "nothing\nmoves"),
                        ("Before: q", "During attention: q", "After: o"))
    y = p.panel(0, 160, "Before: k, v", rows, HEADS)
    p.panel(1, 160, "During attention: k, v", everywhere, HEADS)
    p.arrow(0, y, "all-gather\nof k, v\n\na rank sends its\npart to 3 others")
    p.text(MARGIN + 2 * (PANEL + GAP) + LABELS, y + 4, "k and v are dropped", "s")
    p.text(MARGIN, y + 76, "ulysses = 2: after the all-to-alls of usp, ranks 0 and 2 gather k and v of heads 0 and 1, ranks 1 "
           "and 3 of heads 2 and 3", "s")
    return p


def dsv():
    p = Picture("dsv", "dsv with u2 r2: heads by weight without a cap, and of other keys those that a row needs",
                "left, middle: heads by blocks of tokens; right: query blocks by key blocks")
    heads, band = [11, 4, 3, 3], grid(BLOCKS, BLOCKS, lambda i, j: abs(i - j) <= 1)
    owner, chunk = [0, 1, 1, 1], even(BLOCKS, 2)
    y = p.panel(0, 36, "Before: q, k, v", by_columns(4, COLUMNS), HEADS)
    p.panel(1, 36, "During attention: q", on_mesh(owner, chunk, 2), weighted(heads),
            note="heads: 11 and 10 so, 15 and 6 in order")
    p.arrow(0, y, "all-to-all in\n{0, 1}, {2, 3}\n\nrank 0 gets\none head")
    fetched = grid(BLOCKS, BLOCKS, lambda i, j: 2 * chunk[i] if band[i][j] else None)
    p.panel(2, 36, "Tiles of head 0", fetched, [f"rank {2 * c}" for c in chunk],
            shown=grid(BLOCKS, BLOCKS, lambda i, j: "f" if band[i][j] and chunk[i] != chunk[j] else "."),
            note="f: rank 0 fetches key block 4 of rank 2,\nwhich fetches block 3; a ring moves all 4")
    return p


def dsp():
    p = Picture("dsp", "dsp: the cut is always of the axis that is not attended", "rows: frames; columns: positions")
    frames = [f"frame {f}" for f in range(BLOCKS)]
    by_frame, by_position = by_rows(even(BLOCKS, RANKS), BLOCKS), by_columns(BLOCKS, COLUMNS)
    y = before_during_after(p, frames, by_frame, by_position,
                            ("switch: all-\nto-all of x\n\n3/4 leaves\nits rank",
                             "switch back:\nall-to-all of x\n\n3/4 leaves\nits rank"),
                            ("Spatial block", "Temporal block", "After: x"),
                            note="attention runs down the columns:\nalong frames, at each position")
    for n, line in enumerate(("attention runs along the rows:", "inside each frame")):
        p.text(MARGIN, y + 97 + 15 * n, line, "s")
    return p


def megatron(name, title, outside, into, out_of):
    p = Picture(name, title, "rows: channels; columns: blocks of tokens")
    ffn = [f"part {i}" for i in range(4)]
    cut = by_rows(even(4, RANKS), BLOCKS)
    for top, title, rows in ((36, "Attention, by head", HEADS), (200, "Feed-forward, by channel", ffn)):
        y = p.panel(0, top, "Before: x", outside, [])
        p.panel(1, top, title, cut, rows, note="the next weight sums over all\nranks: each has a share of it")
        p.panel(2, top, "After: x", outside, [])
        p.arrow(0, y, into)
        p.arrow(1, y, out_of)
    return p


def megatron_sp():
    return megatron("megatron_sp", "megatron_sp: weights cut; the hidden state cut over tokens between blocks",
                    by_columns(4, COLUMNS), "all-gather\nof modulated x\n\na rank sends its\npart to 3 others",
                    "reduce-scatter\nof the sums\n\n3/4 of each\nshare leaves")


def megatron_tp():
    return megatron("megatron_tp", "megatron_tp: weights cut; the hidden state whole at every rank",
                    grid(4, BLOCKS, lambda *_: EVERY_RANK), "nothing\nmoves",
                    "all-reduce\nof the sums\n\n2 x 3/4 of x\nleaves each rank")


def main():
    folder = Path(__file__).resolve().parent
    for draw in (single, ulysses, ring, usp, dbsp, cyclic, torus, snake_heads, burst, allgather_kv, dsv, dsp, megatron_sp,
                 megatron_tp):
        draw().write(folder)


if __name__ == "__main__":
    main()
