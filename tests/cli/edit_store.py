"""edit_store.py FILE STATEMENT...: changes a stored run behind the program's back. flip(BLOB, SHARE) is the bytes with
one bit changed, SHARE of the way through them."""
import sqlite3
import sys


def flip(blob, share):
    changed = bytearray(blob)
    changed[int(share * (len(blob) - 1))] ^= 4
    return bytes(changed)


with sqlite3.connect(sys.argv[1]) as connection:
    connection.create_function("flip", 2, flip)
    for statement in sys.argv[2:]:
        connection.execute(statement)
connection.close()
