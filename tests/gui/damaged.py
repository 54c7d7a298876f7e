"""Files that cannot be shown, made from a whole store: name, and what makes it of (the whole store, the path of the new file)."""
import shutil
import sqlite3


def _changed(statement):
    def make(whole, path):
        shutil.copy(whole, path)
        with sqlite3.connect(path) as store:
            store.execute(statement)
        store.close()
    return make


def foreign(whole, path):
    """A database of another program."""
    with sqlite3.connect(path) as store:
        store.execute("create table bird (name text)")
    store.close()


def half(whole, path):
    """A copy that is still under way."""
    data = whole.read_bytes()
    path.write_bytes(data[:len(data) // 2])


def grow(whole, path):
    """The rest of that copy."""
    with open(path, "ab") as more:
        more.write(whole.read_bytes()[path.stat().st_size:])


plan_lost = _changed("update plan set data = zeroblob(16)")
UNREADABLE = {"half": half, "empty": lambda whole, path: path.write_bytes(b""), "page": lambda whole, path: path.write_bytes(b"<html>" * 1000),
              "foreign": foreign, "folder": lambda whole, path: path.mkdir(),
              "newer": _changed("update meta set value = '999' where key in ('min_reader', 'schema_version')")}
