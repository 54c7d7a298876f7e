"""docs/strategies.md as formulas: when a strategy is legal, and the bytes that it sends, summed over ranks."""
import math


def even(n, parts):
    return [n * (j + 1) // parts - n * j // parts for j in range(parts)]


def degrees(parameters, ranks, heads):
    """(ulysses, ring) of usp and its kin: one that is 0 follows from the other; both 0: the largest legal ulysses."""
    u, r = parameters.get("ulysses", 0), parameters.get("ring", 0)
    if u == 0 and r == 0:
        u = max(d for d in range(1, ranks + 1) if ranks % d == 0 and d <= heads)
    return u or ranks // r, r or ranks // u


# Models whose text stands before the video in the tokens of a file; masks of patterns have text last.
TEXT_FIRST = {"cogvideox-5b", "flux.1-dev"}


def torus_degrees(ranks, heads, nodes):
    return [u for u in range(1, min(ranks, heads) + 1) if ranks % u == 0 and u % nodes == 0]


def legal(name, parameters, w, ranks, node):
    """`node`: that of each rank."""
    heads, layer = w["heads"], w["scope"] == "layer"
    replicated = w["text"] == "replicate" and w["text_tokens"] > 0
    spatial_temporal = len(w["masks"]) == 2
    if name == "single":
        return True
    if name == "allgather_kv":
        u = parameters.get("ulysses", 1)
        return ranks % u == 0 and u <= heads
    if name in ("ulysses", "snake"):
        return ranks <= heads and parameters.get("chunks", 1) <= -(-heads // ranks)
    if name == "burst" and parameters.get("order", "stripe") == "stripe":
        starts = next(m["block_starts"] for m in w["masks"] if m["axis"] == ("outer" if spatial_temporal else "inner"))
        if ranks > max(b - a for a, b in zip(starts, starts[1:])):
            return False
    if name in ("ring", "burst"):  # of whole nodes, as clusters are drawn
        return ranks == 1 or not replicated
    if name == "dbsp" and replicated and not parameters.get("ulysses") and not parameters.get("ring"):
        return ranks <= heads
    nodes = node[-1] + 1
    if name == "torus":
        found = torus_degrees(ranks, heads, nodes)
        return nodes > 1 and len({node.count(n) for n in range(nodes)}) == 1 and not replicated and bool(found) and \
            parameters.get("ulysses", 0) in (0, *found)
    if name == "usp" and parameters.get("ranks") == "topology":
        u = math.gcd(ranks, heads)
        given = parameters.get("ulysses", 0), parameters.get("ring", 0)
        return given[0] in (0, u) and given[1] in (0, ranks // u) and u % nodes == 0 and (u == ranks or not replicated)
    if name == "dsv" and replicated and not parameters.get("ulysses") and not parameters.get("ring"):
        return ranks <= heads
    if name in ("usp", "dbsp", "cyclic", "dsv"):
        u, r = degrees(parameters, ranks, heads)
        return u * r == ranks and u <= heads and (r == 1 or not replicated)
    if name == "dsp":
        return spatial_temporal and layer
    if name == "megatron_sp":
        return layer and ranks <= heads and ranks <= w["ffn"] and not replicated
    return layer and ranks <= w["ffn"]  # megatron_tp


def bytes_of_hidden(name, w, block, ranks):
    """{tensor: bytes} of the Megatrons, from the table of layers."""
    attentions_to_text = w["context_tokens"] > 0
    times = {"wan": 6 if attentions_to_text else 4, "joint": 4, "double": 4, "single": 2}.get(block)
    if block.startswith("spatial-temporal"):
        times = (8 if block.endswith("2") else 6) + (4 if attentions_to_text else 0)
    norms = (3 if attentions_to_text else 2) if block == "wan" else 0
    tokens = w["outer_tokens"] * w["inner_tokens"]
    with_heads = min(ranks, w["heads"])  # the others have no part in a norm over all heads
    text = tensor_bytes(w, w["text_tokens"]) if w["text"] == "replicate" else 0
    return {"hidden": times * (ranks - 1) * (tensor_bytes(w) - text), "text": times * (ranks - 1) * text,
            "norm": norms * 2 * (with_heads - 1) * 4 * tokens * w["batch"]}


def tree_tokens(parts, node):
    """Tokens that leave a node in a gather and in a sum, by prime factors of the number of ranks, the farthest first."""
    ranks, tokens = len(parts), 0
    held = [{rank} for rank in range(ranks)]  # whose part a rank has in a gather
    part = ranks
    while part > 1:
        factor = next(f for f in range(2, part + 1) if part % f == 0)
        apart = part // factor
        after = [set(h) for h in held]
        for rank in range(ranks):
            base = rank - rank % part
            ring = [base + (rank + i * apart) % part for i in range(factor)]  # from this rank on
            sizes = sum(parts[i] for i in held[rank])
            for hop in range(1, factor):
                # In a gather what this rank has goes on and on; in a sum the shares of it come the same way to its end.
                tokens += sizes * (node[ring[hop - 1]] != node[ring[hop]])
                tokens += sizes * (node[ring[hop]] != node[ring[(hop + 1) % factor]])
                after[ring[hop]] |= held[rank]
        held = after
        part = apart
    return tokens


def between_nodes(name, parameters, w, block, ranks, node):
    """Bytes of a Megatron that leave a node, over all ranks, by "Gathers and sums", and of a torus; None where the page
    says nothing of them."""
    if name == "torus":
        nodes = node[-1] + 1
        moved, rest = divmod(4 * (nodes - 1) * tensor_bytes(w), nodes)
        return None if rest or w["heads"] % nodes else moved
    if not name.startswith("megatron") or ranks > w["heads"] or (w["text"] == "replicate" and w["text_tokens"] > 0):
        return None
    parts = [w["outer_tokens"] * tokens for tokens in even(w["inner_tokens"], ranks)]
    size = [node.count(node[rank]) for rank in range(ranks)]
    algorithm = parameters.get("collective", "ring")
    if algorithm == "hierarchical" and (len(set(size)) > 1 or size[0] in (1, ranks)):
        algorithm = "ring"
    crosses = [node[rank] != node[(rank + 1) % ranks] for rank in range(ranks)]
    tokens = 0  # that leave a node in a gather, and in a sum
    if algorithm == "tree":
        tokens = tree_tokens(parts, node)
    for rank, part in enumerate([] if algorithm == "tree" else parts):
        if algorithm == "ring":  # every hop but the last, into where a gather began, or out of where a sum ends
            tokens += part * (2 * sum(crosses) - crosses[rank - 1] - crosses[rank])
        else:
            tokens += 2 * part * (ranks - size[rank] if algorithm == "flat" else ranks // size[rank] - 1)
    moved = bytes_of_hidden(name, w, block, ranks)
    whole = 2 * (ranks - 1) * sum(parts)  # tokens that move in both, node or not
    return (moved["hidden"] + moved["norm"]) * tokens // whole if ranks > 1 else 0


def tensor_bytes(w, tokens=None):
    """M: one tensor over all ranks."""
    element = {"bf16": 2, "fp32": 4}[w["dtype"]]
    tokens = w["outer_tokens"] * w["inner_tokens"] if tokens is None else tokens
    return tokens * w["heads"] * w["head_dim"] * element * w["batch"]


def closed_form(name, parameters, resolved, w, block, ranks):
    """{tensor: bytes} over all ranks where the documentation gives it exactly, else {}; sums of k and v as `kv`."""
    heads, replicated = w["heads"], w["text"] == "replicate" and w["text_tokens"] > 0
    spatial_temporal = len(w["masks"]) == 2
    tokens = w["outer_tokens"] * w["inner_tokens"] - (w["text_tokens"] if replicated else 0)
    m, text = tensor_bytes(w, tokens), tensor_bytes(w, w["text_tokens"]) if replicated else 0
    if name == "single":
        return {"q": 0, "kv": 0, "o": 0, "text": 0, "hidden": 0, "exchange": 0, "norm": 0}
    if name == "allgather_kv" and heads % resolved["ulysses"] == 0:
        u, r = resolved["ulysses"], resolved["ring"]
        once, rest = divmod((u - 1) * m, u)
        return {} if rest else {"q": once, "kv": 2 * once + 2 * (r - 1) * m, "o": once, "text": (u - 1) * r * text,
                                "hidden": 0, "exchange": 0, "norm": 0}
    if name in ("ring", "burst"):
        return {"q": 0, "kv": 2 * (ranks - 1) * m, "o": 0, "text": 0, "hidden": 0, "exchange": 0, "norm": 0}
    if name in ("ulysses", "snake") and not spatial_temporal and (name == "ulysses" or heads % ranks == 0):
        shares = sum(t * h for t, h in zip(even(tokens, ranks), even(heads, ranks)))
        stay = shares * m // (tokens * heads) if tokens else 0
        return {"q": m - stay, "kv": 2 * (m - stay), "o": m - stay, "text": (ranks - 1) * text, "hidden": 0, "norm": 0}
    if name in ("usp", "cyclic", "dbsp") and heads % resolved["ulysses"] == 0 and not replicated:
        u, r = resolved["ulysses"], resolved["ring"]
        once, rest = divmod((u - 1) * m, u)
        if rest:
            return {}
        found = {"q": once, "kv": 2 * once + 2 * (r - 1) * m, "o": once, "text": 0, "hidden": 0, "norm": 0}
        return found | ({} if name == "dbsp" else {"exchange": 0})
    if name == "dsp":
        stay = sum(t * s for t, s in zip(even(w["outer_tokens"], ranks), even(w["inner_tokens"], ranks)))
        channel = tensor_bytes(w, 1)
        return {"q": 0, "kv": 0, "o": 0, "hidden": 2 * (w["outer_tokens"] * w["inner_tokens"] - stay) * channel, "norm": 0}
    if name.startswith("megatron"):
        return bytes_of_hidden(name, w, block, ranks)
    return {}
