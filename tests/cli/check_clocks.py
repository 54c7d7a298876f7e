"""Whether the clock fits of a run on two hosts are right, whose true difference is known: ranks 0 and 1 read one clock,
ranks 2 and 3 another one that is ahead of it.

Usage: check_clocks.py CLOCK_FIT.csv SECONDS_AHEAD
"""
import csv
import sys

MOST_NS = 500_000_000  # a bound that says nothing would be no test; a busy machine takes milliseconds to answer


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fits = {int(row["rank"]): row for row in csv.DictReader(file)}
    ahead_ns = int(sys.argv[2]) * 1_000_000_000
    assert sorted(fits) == [0, 1, 2, 3], fits
    zero = int(fits[0]["raw_zero_ns"])
    for rank in (0, 1):
        fit = fits[rank]
        assert (int(fit["raw_zero_ns"]), int(fit["offset_ns"]), float(fit["drift"])) == (zero, 0, 0), fit
        assert (int(fit["bound_ns"]), int(fit["exchanges"])) == (0, 0), fit
    fit = fits[2]
    assert {**fits[3], "rank": "2"} == fit, "ranks of one host read one clock"
    bound, exchanges = int(fit["bound_ns"]), int(fit["exchanges"])
    assert 0 < bound < MOST_NS and exchanges > 0, fit
    raw = int(fit["raw_zero_ns"])
    error = int(fit["offset_ns"]) - (raw - ahead_ns - zero)
    assert abs(error) <= bound, f"off by {error} ns, and the bound is {bound} ns"


if __name__ == "__main__":
    main()
