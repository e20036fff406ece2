"""Compares two files that `run.py --json FILE` wrote: `python benchmarks/compare.py OLD NEW`.

Ratios of medians; a change counts where the bursts of one file lie all above those of the other. Ends with 1 if a case
became slower by more than `--allow` in that sense.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--allow", type=float, default=0.1, help="how much slower a case may become (default 0.1)")
    arguments = parser.parse_args()
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (arguments.old, arguments.new))
    for name in ("processor", "cores", "python"):
        if old["machine"][name] != new["machine"][name]:
            print(f"Not the same machine: {name} {old['machine'][name]} and {new['machine'][name]}")
    slower = 0
    for table, cases in new["steps_per_second"].items():
        for case, rates in cases.items():
            before = old["steps_per_second"].get(table, {}).get(case)
            if not before:
                print(f"{'new':>8}  {statistics.median(rates):>12,.0f}  {table}: {case}")
                continue
            ratio = statistics.median(rates) / statistics.median(before)
            apart = min(rates) > max(before) or max(rates) < min(before)
            worse = apart and ratio < 1 - arguments.allow
            slower += worse
            sign = " slower" if worse else "" if apart else " (within the noise)"
            print(f"{ratio:>7.2f}x  {statistics.median(rates):>12,.0f}  {table}: {case}{sign}")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
