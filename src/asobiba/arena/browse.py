"""The list of all matches inside the report, packed in pieces; the page unpacks only the pieces in view."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from asobiba.arena.match import REASONS
from asobiba.arena.results import Results

PIECE = 5000
"""Matches of a piece."""


def packed(results: Results) -> dict[str, Any]:
    """Data of the page: `agents`, `reasons`, `total`, and `pieces`, each a base64 text of gzipped JSON columns
    (`number`, `seats` flat, `won`, `moves`, `reason`), numbers as differences from the one before; `won` has bit `k` set
    where seat `k`, or its team, won."""
    pieces = []
    for begin in range(0, len(results), PIECE):
        part = results[begin : begin + PIECE]
        numbers = part.number.tolist()
        columns = {
            "number": [b - a for a, b in zip([0, *numbers], numbers)],
            "seats": part.seats.ravel().tolist(),
            "won": (part.won.astype(np.int64) << np.arange(part.seats.shape[1])).sum(1).tolist(),
            "moves": part.moves.tolist(),
            "reason": part.reason.tolist(),
        }
        data = json.dumps(columns, separators=(",", ":")).encode()
        pieces.append(base64.b64encode(gzip.compress(data, 6, mtime=0)).decode())
    return {"agents": list(results.agents), "reasons": list(REASONS), "total": len(results), "pieces": pieces}
