"""Chunks of events in Python: a second opinion of docs/file-format.md, written from its description alone. Planes that are
not compressed; spans alone both ways.

An event is a dict with begin_ns, end_ns, op_id, name_id, flags and, of what moved data, entry_ns, transfer_begin_ns,
transfer_end_ns, sequence, bytes, communicator_id, peer; of work, bytes, correlation_id, work_detail_id. A sample of a
counter is a pair of time and value.
"""
import struct

SPAN = ("begin_ns", "end_ns", "op_id", "name_id", "flags")
COLLECTIVE = SPAN + ("entry_ns", "transfer_begin_ns", "transfer_end_ns", "sequence", "bytes", "communicator_id", "peer")
WORK = SPAN + ("bytes", "correlation_id", "work_detail_id")
RECORDS = {0: SPAN, 1: COLLECTIVE, 3: WORK}
MASK = (1 << 64) - 1


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def zigzag(x):
    x &= MASK
    return (x << 1 ^ (MASK if x >> 63 else 0)) & MASK


def unzigzag(x):
    return (x >> 1 ^ -(x & 1)) & MASK


def signed(x):
    x &= MASK
    return x - (1 << 64) if x >> 63 else x


def columns_of(kind, events):
    """The first begin and the unsigned numbers of each column."""
    first = last_end = events[0]["begin_ns"]
    last_op, last_sequence, last_correlation, rows = -1, 0, 0, []
    for e in events:
        row = [zigzag(e["begin_ns"] - last_end), e["end_ns"] - e["begin_ns"] & MASK, zigzag(e["op_id"] - last_op),
               e["name_id"], e["flags"]]
        if kind == 1:
            row += [zigzag(e["entry_ns"] - e["begin_ns"]), zigzag(e["transfer_begin_ns"] - e["entry_ns"]),
                    zigzag(e["transfer_end_ns"] - e["end_ns"]), zigzag(e["sequence"] - last_sequence),
                    zigzag(e["bytes"]), e["communicator_id"], e["peer"] + 1]
            last_sequence = e["sequence"]
        if kind == 3:
            step = e["correlation_id"] - last_correlation & 0xffffffff
            row += [zigzag(e["bytes"]), zigzag(step - (1 << 32) if step >> 31 else step), e["work_detail_id"]]
            last_correlation = e["correlation_id"]
        last_end, last_op = e["end_ns"], e["op_id"]
        rows.append(row)
    return first, list(zip(*rows))


def encode(kind, events):
    """The bytes of a chunk."""
    return pack(*columns_of(kind, events))


def pack(first, columns):
    widths = [(max(column).bit_length() + 7) // 8 for column in columns]
    planes = [bytes(x >> 8 * p & 0xff for x in column) for column, width in zip(columns, widths) for p in range(width)]
    sizes = struct.pack(f"<{len(planes)}H", *map(len, planes))
    return bytes(widths) + struct.pack("<q", first) + sizes + b"".join(planes)


def encode_counter(samples):
    """The bytes of a chunk of samples."""
    first = last_time = samples[0][0]
    last_bits, rows = 0, []
    for time_ns, value in samples:
        bits, = struct.unpack("<Q", struct.pack("<d", value))
        rows.append([zigzag(time_ns - last_time), int.from_bytes((bits ^ last_bits).to_bytes(8, "little"), "big")])
        last_time, last_bits = time_ns, bits
    return pack(first, list(zip(*rows)))


def decode(count, data):
    """The events of a chunk that moved no data and are no work."""
    widths, columns = data[:len(SPAN)], []
    last_end, = struct.unpack_from("<q", data, len(SPAN))
    at = len(SPAN) + 8
    sizes = struct.unpack_from(f"<{sum(widths)}H", data, at)
    assert set(sizes) <= {count}, "no plane is compressed"
    at += 2 * len(sizes)
    for width in widths:
        planes = [data[at + p * count:at + (p + 1) * count] for p in range(width)]
        columns.append([sum(plane[i] << 8 * p for p, plane in enumerate(planes)) for i in range(count)])
        at += width * count
    assert at == len(data), "a chunk ends with its last plane"
    last_op, events = -1, []
    for gap, duration, op_step, name, flags in zip(*columns):
        begin = signed(last_end + unzigzag(gap))
        last_end, last_op = signed(begin + duration), signed(last_op + unzigzag(op_step))
        events.append(dict(begin_ns=begin, end_ns=last_end, op_id=last_op, name_id=name, flags=flags))
    return events


def insert_counter(db, run_id, track_id, samples):
    events = [dict(begin_ns=time_ns, end_ns=time_ns, op_id=-1) for time_ns, _ in samples]
    insert_chunk(db, run_id, track_id, 2, events, encode_counter(samples))


def insert_chunk(db, run_id, track_id, kind, events, data=None):
    data = data or encode(kind, events)
    begins, ops = [e["begin_ns"] for e in events], [e["op_id"] for e in events]
    seq, = db.execute("SELECT count(*) FROM chunk WHERE track_id = ?", (track_id,)).fetchone()
    db.execute("INSERT INTO chunk (run_id, track_id, seq, record_kind, codec, count, begin_min_ns,"
               " begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)",
               (run_id, track_id, seq, kind, len(events), min(begins), max(begins),
                max(e["end_ns"] for e in events), min(ops), max(ops), crc32c(data), data))
