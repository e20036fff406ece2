"""Mark Mammel's player of Pente, the computer player of pente.org, as an opponent: `process:python player.py LEVEL [VCT]`.

Its source (AGPL-3.0) is not part of asobiba. To build it beside this file:

    git clone --depth 1 https://github.com/rainwolf/pente.org
    cp pente.org/dsg_src/mmai/Ai.* pente.org/dsg_src/mmai/CPoint.* pente.org/dsg_src/conf/marksAI/pente.* .
    sed -i 's/pAt, ;/pAt;/' Ai.h
    g++ -O2 -w -fpermissive -include cstdio -shared -fPIC -I . player.cpp Ai.cpp -x c++ CPoint.c -o player.so

LEVEL is a depth of search, 1 to 8 at pente.org; with VCT 1 it also looks for threats. It knows Pente on 19 lines.
"""

import ctypes
import json
import os
import sys
from itertools import chain, zip_longest
from pathlib import Path

SIZE = 19
LEVEL = int(sys.argv[1])
THREATS = int(sys.argv[2]) if len(sys.argv) > 2 else 0

os.chdir(Path(__file__).resolve().parent)  # where its tables lie
library = ctypes.CDLL("./player.so")
library.player_new.restype = ctypes.c_void_p
player = ctypes.c_void_p(library.player_new())


def begun(observation: list[float]) -> list[int]:
    """The stones of an opening, as if they had been played in turn: nothing was captured yet."""
    points = SIZE * SIZE
    own, theirs = ([k for k in range(points) if observation[c * points + k]] for c in (0, 1))
    first, second = (theirs, own) if len(theirs) > len(own) else (own, theirs)
    return [square for square in chain(*zip_longest(first, second)) if square is not None]


moves: list[int] = []
for line in sys.stdin:
    question = json.loads(line)
    if question["type"] == "begin":
        moves = []
        answer = {"wants": ["view", "legal", "observation"]}
    elif question["type"] == "act":
        if moves:
            moves.append(question["view"]["last_point"])
        else:
            moves = begun(question["observation"])
        array = (ctypes.c_int * max(len(moves), 1))(*moves)
        action = library.player_move(player, len(moves), array, LEVEL, THREATS)
        if action not in question["legal"]:  # it knows no rule that forbids a point
            action = question["legal"][0]
        moves.append(action)
        answer = {"action": action}
    else:
        break
    print(json.dumps(answer), flush=True)
