"""edit_store.py FILE STATEMENT...: changes a stored run behind the program's back."""
import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as connection:
    for statement in sys.argv[2:]:
        connection.execute(statement)
connection.close()
