"""Chunks of events in Python: a second opinion of docs/file-format.md, written from its description alone. Version 1 of
the records both ways, version 2 as a reader.

An event is a dict with begin_ns, end_ns, op_id, name_id, flags and, of what moved data, entry_ns, transfer_begin_ns,
transfer_end_ns, sequence, bytes, communicator_id, peer.
"""
import struct

SPAN = ("begin_ns", "end_ns", "op_id", "name_id", "flags")
COLLECTIVE = SPAN + ("entry_ns", "transfer_begin_ns", "transfer_end_ns", "sequence", "bytes", "communicator_id", "peer")
RECORDS = {0: (SPAN, "<qqqII"), 1: (COLLECTIVE, "<qqqIIqqqqqIi")}
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
    """The first begin and the unsigned numbers of each column of codec 1."""
    first = last_end = events[0]["begin_ns"]
    last_op, last_sequence, rows = -1, 0, []
    for e in events:
        row = [zigzag(e["begin_ns"] - last_end), e["end_ns"] - e["begin_ns"] & MASK, zigzag(e["op_id"] - last_op),
               e["name_id"], e["flags"]]
        if kind == 1:
            row += [zigzag(e["entry_ns"] - e["begin_ns"]), zigzag(e["transfer_begin_ns"] - e["entry_ns"]),
                    zigzag(e["transfer_end_ns"] - e["end_ns"]), zigzag(e["sequence"] - last_sequence),
                    zigzag(e["bytes"]), e["communicator_id"], e["peer"] + 1]
            last_sequence = e["sequence"]
        last_end, last_op = e["end_ns"], e["op_id"]
        rows.append(row)
    return first, list(zip(*rows))


def encode(kind, events, codec=1):
    """The bytes of a chunk of codec 0 or 1."""
    if codec == 0:
        names, layout = RECORDS[kind]
        return b"".join(struct.pack(layout, *(e[name] for name in names)) for e in events)
    first, columns = columns_of(kind, events)
    widths = [(max(column).bit_length() + 7) // 8 for column in columns]
    packed = b"".join(x.to_bytes(width, "little") for column, width in zip(columns, widths) for x in column)
    return bytes(widths) + struct.pack("<q", first) + packed + bytes(8)


def decode(kind, count, data):
    """The events of a chunk of codec 1."""
    names, _ = RECORDS[kind]
    widths, at, columns = data[:len(names)], len(names) + 8, []
    last_end, = struct.unpack_from("<q", data, len(names))
    for width in widths:
        columns.append([int.from_bytes(data[at + i * width:at + (i + 1) * width], "little") for i in range(count)])
        at += width * count
    assert data[at:] == bytes(8), "a chunk ends with eight bytes of zero"
    last_op, last_sequence, events = -1, 0, []
    for row in zip(*columns):
        begin = signed(last_end + unzigzag(row[0]))
        e = dict(begin_ns=begin, end_ns=signed(begin + row[1]), op_id=signed(last_op + unzigzag(row[2])), name_id=row[3],
                 flags=row[4])
        if kind == 1:
            e["entry_ns"] = signed(begin + unzigzag(row[5]))
            e["transfer_begin_ns"] = signed(e["entry_ns"] + unzigzag(row[6]))
            e["transfer_end_ns"] = signed(e["end_ns"] + unzigzag(row[7]))
            e["sequence"] = last_sequence = signed(last_sequence + unzigzag(row[8]))
            e["bytes"], e["communicator_id"], e["peer"] = signed(unzigzag(row[9])), row[10], row[11] - 1
        last_end, last_op = e["end_ns"], e["op_id"]
        events.append(e)
    return events


def bits_of(data, at, widths):
    """Numbers of these widths in bits from byte `at` on, and the byte after them."""
    whole, bit, numbers = int.from_bytes(data[at:], "little"), 0, []
    for width in widths:
        numbers.append(whole >> bit & (1 << width) - 1)
        bit += width
    return numbers, at + (bit + 7) // 8


def value_column(data, at, head, labels):
    groups, high_width, exceptions, size = struct.unpack("<BBHI", head)
    widths, end = data[at:at + groups], at + size
    of = [widths[0] if groups == 1 else widths[label] for label in labels]
    numbers, at = bits_of(data, at + groups, of)
    places = struct.unpack_from(f"<{exceptions}H", data, at)
    highs, at = bits_of(data, at + 2 * exceptions, [high_width] * exceptions)
    assert at == end, "a column is as long as its head says"
    for place, high in zip(places, highs):
        numbers[place] |= high << of[place]
    return numbers, end


def decode_version_2(kind, count, data):
    """The events of a chunk of codec 1 whose records have version 2."""
    num_records, num_labels = struct.unpack_from("<HH", data)
    assert num_records == count, "a chunk knows how many records it has"
    num_tables, num_columns = (3, 3) if kind == 0 else (7, 6)
    widths, at = data[4:4 + num_tables], 4 + num_tables
    last_end, = struct.unpack_from("<q", data, at)
    heads = [data[at + 8 + 8 * i:at + 16 + 8 * i] for i in range(num_columns)]
    at += 8 + 8 * num_columns
    tables = []
    for width in widths:
        tables.append([int.from_bytes(data[at + i * width:at + (i + 1) * width], "little") for i in range(num_labels)])
        at += width * num_labels
    columns, labels, label = [], [0] * count, num_labels - 1
    for head in heads:
        column, at = value_column(data, at, head, labels)
        if not columns:
            for i, step in enumerate(column):
                labels[i] = label = (label + 1 + step) % num_labels
        columns.append(column)
    assert data[at:] == bytes(8), "a chunk ends with eight bytes of zero"
    ops, sequences, op, sequence = [], [], -1, 0
    for i in range(num_labels):
        ops.append(op := signed(op + unzigzag(tables[0][i])))
        if kind == 1:
            sequences.append(sequence := signed(sequence + unzigzag(tables[3][i])))
    events = []
    for i, label in enumerate(labels):
        begin = signed(last_end + unzigzag(columns[1][i]))
        e = dict(begin_ns=begin, end_ns=signed(begin + columns[2][i]), op_id=ops[label], name_id=tables[1][label],
                 flags=tables[2][label])
        if kind == 1:
            e["entry_ns"] = signed(begin + unzigzag(columns[3][i]))
            e["transfer_begin_ns"] = signed(e["end_ns"] - unzigzag(columns[4][i]))
            e["transfer_end_ns"] = signed(e["end_ns"] + unzigzag(columns[5][i]))
            e["sequence"], e["bytes"] = sequences[label], signed(unzigzag(tables[4][label]))
            e["communicator_id"], e["peer"] = tables[5][label], tables[6][label] - 1
        last_end = e["end_ns"]
        events.append(e)
    return events


def insert_chunk(db, run_id, stream_id, kind, events, codec=1):
    data = encode(kind, events, codec)
    begins, ops = [e["begin_ns"] for e in events], [e["op_id"] for e in events]
    seq, = db.execute("SELECT count(*) FROM chunk WHERE stream_id = ?", (stream_id,)).fetchone()
    db.execute("INSERT INTO chunk (run_id, stream_id, seq, record_kind, record_version, codec, count, begin_min_ns,"
               " begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               (run_id, stream_id, seq, kind, codec, len(events), min(begins), max(begins),
                max(e["end_ns"] for e in events), min(ops), max(ops), crc32c(data), data))
