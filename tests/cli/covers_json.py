"""covers_json.py NEW OLD: exit 1 unless every value of the JSON file OLD stands in the same place of NEW, which may say
more. Numbers are equal to 12 digits."""
import json
import math
import sys


def differences(new, old, place):
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from differences(new[key], value, f"{place}.{key}")
            else:
                yield f"{place}.{key} is gone"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, value in enumerate(old):
            yield from differences(new[i], value, f"{place}[{i}]")
    elif isinstance(old, float) and isinstance(new, (int, float)):
        if not math.isclose(new, old, rel_tol=1e-12):
            yield f"{place}: {new!r}, not {old!r}"
    elif type(new) is not type(old) or new != old:
        yield f"{place}: {new!r}, not {old!r}"


def main(new, old):
    with open(new, encoding="utf-8") as new_file, open(old, encoding="utf-8") as old_file:
        found = list(differences(json.load(new_file), json.load(old_file), "d"))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
