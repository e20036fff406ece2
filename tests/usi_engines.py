"""A USI program that misbehaves on purpose: `python usi_engines.py MANNER`. The tests run it as a real process."""

from __future__ import annotations

import subprocess
import sys
import time

MOVES = {"good": "2c2b", "illegal": "2d2a", "nonsense": "xyzzy"}


def say(text: str) -> None:
    print(text, flush=True)


def flood() -> None:
    while True:
        sys.stdout.write("info string noise\n" * 1000)
        sys.stdout.flush()


def main(manner: str) -> None:
    print("a word on standard error", file=sys.stderr, flush=True)
    if manner == "chatty":
        sys.stderr.write("e" * 1_000_000)
        sys.stderr.flush()
    if manner == "silent":
        time.sleep(1000)
    if manner == "deaf":
        say("usiok")
        say("readyok")
        time.sleep(1000)
    if manner == "exits":
        sys.exit(3)
    if manner == "flood":
        flood()
    if manner == "endless":
        while True:
            sys.stdout.write("x" * 10_000)
            sys.stdout.flush()
    if manner == "binary":
        sys.stdout.buffer.write(bytes(range(256)) * 100 + b"\n")
        sys.stdout.flush()
    if manner == "parent":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        print(f"child {child.pid}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        word = line.split()[0] if line.split() else ""
        if word == "usi":
            say("id name test engine")
            say("option name USI_Ponder type check default false")
            say("usiok")
        elif word == "isready":
            if manner == "never_ready":
                continue
            say("readyok")
        elif word == "go":
            if manner == "crash":
                sys.exit("something broke")
            if manner == "slow":
                time.sleep(1000)
            if manner == "flood_go":
                flood()
            if manner == "resign":
                say("bestmove resign")
            elif manner == "empty":
                say("bestmove")
            elif manner != "waits":
                say("info depth 1 score cp 5")
                say(f"bestmove {MOVES.get(manner, '2c2b')}")
        elif word == "stop" and manner == "waits":
            say("bestmove 2c2b")
        elif word == "quit":
            return


if __name__ == "__main__":
    main(sys.argv[1])
