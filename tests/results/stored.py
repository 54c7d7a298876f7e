"""What tests of results share: a program that keeps runs in a folder, and JSON that follows its schema."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema is missing (package python3-jsonschema)")
    sys.exit(77)

PROGRAM = sys.argv.pop(1)
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


def read_schema(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    for part in ("strategy", "layer") if name == "result" else ():  # other keys are rows of figures.def
        known = schema["$defs"][part]
        known["propertyNames"] = {"enum": [*known["properties"], *(row["name"] for row in json.loads(spscope("list", "figures", "--json"))["figures"])]}
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def valid(text, schema):
    result = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(result)
    return result


def spscope(*arguments, code=0):
    """What it prints."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} of {arguments}: {done.stderr or done.stdout}")
    return done.stdout


class StoredRuns(unittest.TestCase):
    """RUNS: name -> arguments of `run`. `stores` has their files, `printed` their JSON."""
    RUNS = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="spscope-results-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.stores = {name: cls.folder / f"{name}.db" for name in cls.RUNS}
        # `simulate` calculates every time, so two runs agree to the nanosecond and no core is ever short.
        cls.printed = {name: spscope("run", *arguments, "--set", "run.mode=simulate", "--set", "run.repeats=1", "--json", "-o", cls.stores[name])
                       for name, arguments in cls.RUNS.items()}
