"""Sums over ranks: that what a plan says is a whole sum holds the share of every member of a group once."""


def box_of(plan, box):
    return tuple(frozenset(plan.sets[axis].tolist()) for axis in box)


def overlap(a, b):
    met = tuple(x & y for x, y in zip(a, b))
    return met if all(met) else None


class Shares:
    def __init__(self, plan):
        self.plan, self.known = plan, {}
        self.maker = {}  # value -> post that adds, or None
        for post in plan.posts:
            if post["kind"] in ("reduce", "local"):
                self.maker[post["dst"]] = post
        self.arriving = {}  # (post, rank) -> messages
        for m in plan.messages:
            self.arriving.setdefault((m["post"], m["to"]), []).append((m["from"], box_of(plan, m["box"])))

    def of(self, value, rank, box):
        """Ranks whose shares are in a box of a value, each as often as it is; None where parts of the box differ."""
        key = value, rank, box
        if key not in self.known:
            self.known[key] = self.find(value, rank, box)
        return self.known[key]

    def find(self, value, rank, box):
        v = self.plan.values[value]
        if v["sources"]:
            parts = {self.of(source, rank, part) for source in v["sources"]
                     for held in self.plan.values[source]["placement"][rank]
                     if (part := overlap(box_of(self.plan, held), box))}
            return parts.pop() if len(parts) == 1 else None
        post = self.maker.get(value)
        if post is None or post["kind"] == "local":
            if post is None or self.plan.kernels[post["kernel"]]["name"] != "add_shares":
                return (rank,)
            added = {self.of(operand, rank, box) for operand in [post["src"], *post["operands"]]}
            return added.pop() if len(added) == 1 else None
        own = (post["operands"] or [post["src"]])[0]
        added = [self.of(own if source == rank else post["src"], source, box)
                 for source, sent in self.arriving.get((post["id"], rank), []) if overlap(sent, box) == box]
        return None if None in added else tuple(sorted(share for shares in added for share in shares))


def wrong(plan):
    """Where a sum that nothing is pending of is not that of a group."""
    shares, found = Shares(plan), []
    for post in plan.posts:
        if post["kind"] != "reduce" or plan.values[post["dst"]]["pending"]:
            continue
        groups = {tuple(sorted(plan.groups[g])) for g in plan.values[post["src"]]["pending"]}
        for rank, boxes in enumerate(plan.values[post["dst"]]["placement"]):
            for box in boxes:
                if (has := shares.of(post["dst"], rank, box_of(plan, box))) not in groups:
                    found.append(f"sum {post['dst']} at rank {rank} has the shares of {has}, not of one of {sorted(groups)}")
    return found[:5]
