"""A Gomocup program that behaves as its argument says: `python gomocup_engines.py MANNER`. Run as a real process."""

from __future__ import annotations

import sys
import time


def say(text: str) -> None:
    print(text, flush=True)


def main(manner: str) -> None:
    size, taken, board = 0, set(), False
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        if board:
            if words[0] == "DONE":
                board = False
            else:
                x, y, _ = map(int, line.split(","))
                taken.add((x, y))
                continue
        elif words[0] == "START":
            size = int(words[1])
            if manner == "silent":
                time.sleep(1000)
            say("ERROR unsupported size" if manner == "refuses" else "OK")
            continue
        elif words[0] == "END":
            return
        elif words[0] == "BOARD":
            board = True
            continue
        elif words[0] == "TURN":
            x, y = map(int, words[1].split(","))
            taken.add((x, y))
        elif words[0] != "BEGIN":
            continue
        if manner == "exits":
            sys.exit(3)
        if manner == "slow":
            time.sleep(1000)
        if manner == "outside":
            say("77,77")
            continue
        say("MESSAGE thinking")
        say("DEBUG nothing")
        if manner == "noisy":
            say("what a position")
        square = (
            (0, 0)
            if manner == "occupied"
            else next((x, y) for y in range(size) for x in range(size) if (x, y) not in taken)
        )
        taken.add(square)
        say(f"{square[0]},{square[1]}")


main(sys.argv[1])
