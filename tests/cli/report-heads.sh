#!/usr/bin/env bash
# The pictures of heads on a page are the thumbnails of the file: another reader of PNG gets the grades of their cells, and
# the densities below them are those of the cells.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run --set run.mode=simulate --set model.heads=8 --set run.layers=1 --set run.denoise_steps=2 -s ring -o kept.db
expect_exit 0 report kept.db -o page.html
python3 - kept.db page.html <<'END' || fail "the pictures are not the thumbnails"
import base64, re, sqlite3, sys, zlib

def indices(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        data = png[at + 8:at + 8 + size]
        assert int.from_bytes(png[at + 8 + size:at + 12 + size], "big") == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    rows = zlib.decompress(chunks[b"IDAT"])
    assert chunks[b"IHDR"][:8] == bytes([0, 0, 0, 64] * 2) and len(rows) == 64 * 33
    return [n for row in range(64) for byte in rows[row * 33 + 1:row * 33 + 33] for n in (byte >> 4, byte & 15)]

stored = sqlite3.connect(sys.argv[1]).execute(
    "SELECT p.denoise_step, t.cells FROM mask_thumbnail t JOIN mask_place p USING (mask_id) ORDER BY 1, head").fetchall()
shown = re.findall(r'aria-label="head (\d+), density ([\d.]+) %">.*?href="data:image/png;base64,([^"]*)"', open(sys.argv[2]).read())
assert len(shown) == len(stored) == 16, (len(shown), len(stored))
for (step, cells), (head, density, data) in zip(stored, shown):
    assert indices(base64.b64decode(data)) == [0 if c == 0 else 1 + (c - 1) * 15 // 255 for c in cells]
    assert abs(float(density) - 100 * sum(cells) / 255 / 4096) <= 0.5
END
