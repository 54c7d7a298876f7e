"""When each op runs: schemas/plan_ops.md, "The schedule", as a fluid simulation of all links from event to event."""
import heapq
import math

from plan_document import COMMUNICATES, TWO_SIDED_WITH_DATA

FORGIVEN = 1e-6  # of a nanosecond
COLLECTIVES = ("point_to_point", "all_to_all", "all_gather", "reduce_scatter", "all_reduce", "one_sided")
OF_A_PAIR = ("point_to_point", "one_sided")


def whole(x):
    return math.ceil(x - FORGIVEN - 1e-12 * x)


def nearest(x):
    return math.floor(x + 0.5)


class Network:
    def __init__(self, cluster):
        numbers = cluster["network"]
        self.numbers, self.curves = numbers, {name: cluster["network." + name] for name in COLLECTIVES}
        self.link, self.nic = numbers["link_gbps"], numbers["nic_gbps"]
        self.intra, self.inter = (nearest(numbers[k]) for k in ("intra_latency_ns", "inter_latency_ns"))
        self.in_use = cluster["ranks_in_use"]
        self.per_node = cluster["gpus_per_node"]
        self.slowdown, self.pack = numbers["compute_slowdown"], cluster["cost"]["pack_ns_per_byte"]

    def curve(self, collective):
        """(floor, t0 inside a node, t0 between nodes, bytes a nanosecond); None where the cluster has none."""
        c = self.curves[collective]
        if c["gbps"] > 0:
            between = c["inter_t0_ns"] or self.numbers["inter_latency_ns"]
            return c.get("floor_ns", 0), c["t0_ns"], max(c["t0_ns"], between), c["gbps"]
        halves = [self.curve(half) for half in ("reduce_scatter", "all_gather")] if collective == "all_reduce" else [None]
        if None in halves:
            return None
        return *(sum(half[i] for half in halves) for i in range(3)), 2 / sum(1 / half[3] for half in halves)

    def latency(self, plan, a, b):
        return self.intra if plan.node(a) == plan.node(b) else self.inter

    def t0(self, plan, post, a, b):
        curve = self.curve(post["collective"])
        if curve is None:
            return self.latency(plan, a, b)
        return nearest(curve[1 if plan.node(a) == plan.node(b) else 2] / post["collective_steps"])

    def floor(self, post):
        curve = self.curve(post["collective"])
        return 0 if curve is None else nearest(curve[0] / post["collective_steps"])

    def port(self, plan, post, group):
        """Bytes a nanosecond of a port in a collective of so many ranks."""
        curve, wide = self.curve(post["collective"]), self.curves[post["collective"]]
        if curve is None:
            return self.link
        of_4, of_8 = wide.get("of_4_gbps", 0), wide.get("of_8_gbps", 0)
        if not of_4 or not of_8 or group <= 2:
            return curve[3]
        of_socket = int(self.numbers["socket_gpus"])
        sharing = min(self.in_use, of_socket) if group <= of_socket else self.in_use
        octaves = math.log2(math.sqrt(min(group, self.per_node) * sharing))
        points = [(1, curve[3]), (2, of_4), (3, of_8)]
        if octaves <= 1:
            return curve[3]
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            if octaves <= x1:
                return math.exp(math.log(y0) + (octaves - x0) / (x1 - x0) * (math.log(y1) - math.log(y0)))
        return of_8

    def links(self, plan, post, group, a, b):
        """name -> bytes a nanosecond of every link that a message uses."""
        port = self.port(plan, post, group)
        used = {("out", a): port, ("in", b): port}
        if plan.node(a) != plan.node(b):
            if self.nic > 0:
                used |= {("node out", plan.node(a)): self.nic, ("node in", plan.node(b)): self.nic}
            own = self.numbers["rank_nic_gbps"]
            if own > 0 and post["collective"] in OF_A_PAIR:
                used |= {("nic out", a): own, ("nic in", b): own}
        elif self.numbers["socket_gbps"] > 0 and post["collective"] in OF_A_PAIR:
            sockets = self.socket(plan, a), self.socket(plan, b)
            if sockets[0] != sockets[1]:
                rate = self.numbers["socket_gbps"]
                used |= {("socket out", *sockets[0]): rate, ("socket in", *sockets[1]): rate}
        return used

    def socket(self, plan, rank):
        size = int(self.numbers["socket_gpus"])
        return plan.node(rank), rank % self.per_node // size if size else 0


class Instant:
    """A network that takes no time."""
    slowdown, pack = 1, 0

    def latency(self, plan, a, b):
        return 0

    def t0(self, plan, post, a, b):
        return 0

    def floor(self, post):
        return 0

    def links(self, plan, post, group, a, b):
        return {}


class Link:
    """Jobs under way, each with the time that is left of it alone, moved on to exact times."""
    def __init__(self):
        self.now, self.left, self.ended = 0.0, {}, []

    def next_end(self):
        return self.now + min(self.left.values()) * len(self.left)

    def advance(self, now):
        while self.left and whole(self.next_end()) <= now:
            at, moved = self.next_end(), min(self.left.values())
            self.ended += [job for job, left in self.left.items() if left <= moved]
            self.left = {job: left - moved for job, left in self.left.items() if left > moved}
            self.now = at
        if now > self.now:
            self.left = {job: left - (now - self.now) / len(self.left) for job, left in self.left.items()}
            self.now = now

    def take_ended(self, now):
        """Jobs that have ended by a whole nanosecond, each once."""
        self.advance(now)
        ended, self.ended = self.ended, []
        return ended


class Simulation:
    def __init__(self, plan, durations, network, issue_ns):
        self.plan, self.durations, self.network = plan, durations, network
        self.times = [[None, None, None] for _ in plan.ops]  # post, begin, end
        self.now, self.events, self.ready = 0, [], []
        self.waiting, self.followers = [0] * len(plan.ops), [[] for _ in plan.ops]
        self.links, self.on_links = {}, {}
        self.running = {}  # rank -> [op, work left, since, end]
        self.busy = [0] * plan.ranks
        last = {}
        for op in plan.ops:
            before = set(op["after"]) | {last[op["rank"], op["lane"]]} if (op["rank"], op["lane"]) in last else set(op["after"])
            last[op["rank"], op["lane"]] = op["id"]
            self.waiting[op["id"]] = len(before)
            for b in before:
                self.followers[b].append(op["id"])
            if issue_ns and issue_ns[op["id"]] > 0:
                self.waiting[op["id"]] += 1
                heapq.heappush(self.events, (issue_ns[op["id"]], "issue", op["id"]))
        self.wired = [[m for m in op["messages"] if plan.messages[m]["from"] != plan.messages[m]["to"]]
                      if op["kind"] in COMMUNICATES else [] for op in plan.ops]
        self.open = [len(wired) for wired in self.wired]
        self.ends = {}  # message -> ops that list it
        for op in plan.ops:
            for m in self.wired[op["id"]]:
                self.ends.setdefault(m, []).append(op["id"])
        self.unposted = {m: len(ends) for m, ends in self.ends.items()}
        self.unpacked = dict(self.unposted)
        self.earliest = {}  # message -> when its floor ends
        self.meetings = {}
        for op in plan.ops:
            if op["kind"] in ("reduce", "barrier"):
                self.meetings.setdefault((op["post"], op["group"]), []).append(op["id"])
        self.absent = {key: len(members) for key, members in self.meetings.items()}

    def run(self):
        self.ready = [op for op, count in enumerate(self.waiting) if count == 0]
        self.drain()
        while self.events or any(link.left for link in self.links.values()):
            ends = [whole(link.next_end()) for link in self.links.values() if link.left]
            self.now = min(ends + ([self.events[0][0]] if self.events else []))
            while True:
                served = [job for link in self.links.values() for job in link.take_ended(self.now)]
                due = []
                while self.events and self.events[0][0] == self.now:
                    due.append(heapq.heappop(self.events))
                if not served and not due:
                    break
                for job in served:
                    self.on_links[job] -= 1
                    if self.on_links[job] == 0:
                        self.served(job)
                for _, kind, what in due:
                    self.handle(kind, what)
                self.drain()
        assert all(end is not None for _, _, end in self.times), "an op never ends"
        return self.times

    def drain(self):
        while self.ready:
            self.post(self.ready.pop())

    def handle(self, kind, what):
        if kind == "compute":
            rank, op = what
            if rank in self.running and self.running[rank][0] == op and self.running[rank][3] == self.now:
                del self.running[rank]
                self.finish(op)
        elif kind == "barrier":
            self.finish(what)
        elif kind in ("issue", "signal"):
            self.waiting[what] -= 1
            if self.waiting[what] == 0:
                self.ready.append(what)
        elif kind == "packed":
            self.start(what)
        elif kind == "unpacked":
            self.end(what)
        elif kind == "arrived":
            self.arrive(what)
        else:
            self.serve(what)

    def post(self, op_id):
        op = self.plan.ops[op_id]
        self.times[op_id][0] = self.now
        if op["kind"] not in COMMUNICATES:
            self.times[op_id][1] = self.now
            slow = self.network.slowdown if self.busy[op["rank"]] else 1
            work = self.durations[op_id]
            self.running[op["rank"]] = [op_id, work, self.now, self.now + whole(work * slow)]
            heapq.heappush(self.events, (self.running[op["rank"]][3], "compute", (op["rank"], op_id)))
            return
        if op["kind"] in TWO_SIDED_WITH_DATA and self.wired[op_id]:
            self.occupy(op["rank"], 1)
        if op["kind"] in ("reduce", "barrier"):
            key = (op["post"], op["group"])
            self.absent[key] -= 1
            if self.absent[key] == 0:
                self.meet(self.meetings[key], op["kind"])
            return
        self.begin(op_id)
        for m in self.wired[op_id]:
            self.unposted[m] -= 1
            if self.unposted[m] == 0:
                for end in self.ends[m]:
                    self.begin(end)
        packing = self.copies(op_id, "from")
        if packing > 0:
            heapq.heappush(self.events, (self.now + packing, "packed", op_id))
        else:
            self.start(op_id)

    def copies(self, op_id, end):
        """Packing what a rank sends or keeps in an all-to-all, or unpacking what it gets or keeps."""
        op = self.plan.ops[op_id]
        post = self.plan.posts[op["post"]]
        if op["kind"] != "exchange" or post["collective"] != "all_to_all" or not self.wired[op_id]:
            return 0
        cells = sum(self.plan.cells(self.plan.messages[m]["box"]) for m in op["messages"]
                    if self.plan.messages[m][end] == op["rank"])
        return whole(cells * self.plan.cell_bytes(post["src"]) * self.network.pack)

    def begin(self, op_id):
        self.times[op_id][1] = self.now

    def meet(self, members, kind):
        ranks = [self.plan.ops[m]["rank"] for m in members]
        latency = max([self.network.latency(self.plan, ranks[0], rank) for rank in ranks[1:]], default=0)
        for member in members:
            self.begin(member)
        for member in members:
            if kind == "barrier" and latency > 0:
                heapq.heappush(self.events, (self.now + latency, "barrier", member))
            else:
                self.start(member)

    def start(self, op_id):
        if not self.wired[op_id]:
            self.finish(op_id)
        for m in self.wired[op_id]:
            self.unpacked[m] -= 1
            if self.unpacked[m] > 0:
                continue
            message, post = self.plan.messages[m], self.post_of(m)
            self.earliest[m] = self.now + self.network.floor(post)
            t0 = self.network.t0(self.plan, post, message["from"], message["to"])
            if t0 > 0:
                heapq.heappush(self.events, (self.now + t0, "sent", m))
            else:
                self.serve(m)

    def post_of(self, m):
        return self.plan.posts[self.plan.ops[self.ends[m][0]]["post"]]

    def serve(self, m):
        message = self.plan.messages[m]
        group = self.plan.ops[self.ends[m][0]]["group"]
        ranks = 2 if group is None else len(self.plan.groups[group])
        links = self.network.links(self.plan, self.post_of(m), ranks, message["from"], message["to"])
        self.on_links[m] = len(links)
        for name, rate in links.items():
            link = self.links.setdefault(name, Link())
            link.advance(self.now)
            link.left[m] = message["bytes"] / rate
        if not links:
            self.served(m)

    def served(self, m):
        if self.now < self.earliest[m]:
            heapq.heappush(self.events, (self.earliest[m], "arrived", m))
        else:
            self.arrive(m)

    def arrive(self, m):
        for op_id in self.ends[m]:
            self.open[op_id] -= 1
            if self.open[op_id] > 0:
                continue
            unpacking = self.copies(op_id, "to")
            if unpacking > 0:
                heapq.heappush(self.events, (self.now + unpacking, "unpacked", op_id))
            else:
                self.end(op_id)

    def end(self, op_id):
        if self.plan.ops[op_id]["kind"] in TWO_SIDED_WITH_DATA:
            self.occupy(self.plan.ops[op_id]["rank"], -1)
        self.finish(op_id)

    def occupy(self, rank, by):
        slowdown = self.network.slowdown
        before = slowdown if self.busy[rank] else 1
        self.busy[rank] += by
        after = slowdown if self.busy[rank] else 1
        if rank not in self.running or before == after:
            return
        op_id, left, since, _ = self.running[rank]
        left = max(0.0, left - (self.now - since) / before)
        self.running[rank] = [op_id, left, self.now, self.now + whole(left * after)]
        heapq.heappush(self.events, (self.running[rank][3], "compute", (rank, op_id)))

    def finish(self, op_id):
        self.times[op_id][2] = self.now
        rank = self.plan.ops[op_id]["rank"]
        for follower in self.followers[op_id]:
            other = self.plan.ops[follower]["rank"]
            signal = 0 if other == rank else self.network.latency(self.plan, rank, other)
            if signal > 0:
                heapq.heappush(self.events, (self.now + signal, "signal", follower))
                continue
            self.waiting[follower] -= 1
            if self.waiting[follower] == 0:
                self.ready.append(follower)


def schedule(plan, durations, network, issue_ns=None):
    """[post, begin, end] of each op, in whole nanoseconds."""
    return Simulation(plan, durations, network, issue_ns).run()


def makespan(times):
    return max((end for _, _, end in times), default=0) - min((post for post, _, _ in times), default=0)
