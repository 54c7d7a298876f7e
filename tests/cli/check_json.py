"""check_json.py FILE EXPRESSION...: exit 1 unless each Python expression holds for the JSON object of a file.

`d` is the object and `s` its strategies by id. NaN and infinities, which JSON does not have, are refused.
"""
import json
import sys


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def holds(expression, names):
    try:
        return eval(expression, names)  # texts of our own tests
    except (KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        print(f"{type(error).__name__}: {error}")
        return False


def main(path, *expressions):
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_constant=refuse)
    names = {"d": document, "s": {s["id"]: s for s in document.get("strategies", []) if "id" in s}}
    failed = [e for e in expressions if not holds(e, names)]
    for expression in failed:
        print(f"does not hold: {expression}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
