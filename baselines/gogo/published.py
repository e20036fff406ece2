"""The worked examples of Hanakawa and Tominaga's paper: Tables 3, 4 and 5, as points and as printed.

Match points: 4 for two wins, 0 for two losses. Rows are the points of an agent against the agents of the columns.
"""

from __future__ import annotations

import numpy as np

TABLE_3 = {
    1: [0.917, 0.750, 0.583, 0.417, 0.250, 0.083],
    2: [0.861, 0.611, 0.417, 0.278, 0.194, 0.167],
    3: [0.857, 0.615, 0.451, 0.341, 0.264, 0.198],
    4: [0.869, 0.643, 0.478, 0.353, 0.256, 0.183],
    5: [0.867, 0.636, 0.464, 0.338, 0.246, 0.180],
    6: [0.865, 0.633, 0.462, 0.339, 0.249, 0.183],
    7: [0.866, 0.635, 0.465, 0.341, 0.250, 0.183],
    8: [0.866, 0.634, 0.465, 0.340, 0.249, 0.183],
}
"""WWG of A to F after each step, where everybody beats all below."""
TABLE_4 = {
    1: [0.750, 0.750, 0.583, 0.417, 0.250, 0.250],
    2: [0.722, 0.667, 0.583, 0.444, 0.306, 0.250],
    3: [0.729, 0.701, 0.598, 0.549, 0.318, 0.271],
    4: [0.739, 0.706, 0.574, 0.520, 0.331, 0.258],
    5: [0.740, 0.698, 0.584, 0.505, 0.326, 0.266],
    6: [0.736, 0.699, 0.587, 0.516, 0.322, 0.265],
    7: [0.737, 0.701, 0.583, 0.516, 0.325, 0.263],
    8: [0.737, 0.700, 0.585, 0.515, 0.324, 0.264],
}
_BEATS_4 = ("BDEF", "CDEF", "AEF", "CF", "D", "E")
TABLE_5 = {
    4: {
        "A": 0.441, "B0": 0.927, "B1": 0.792, "B2": 0.676, "B3": 0.578, "B4": 0.357, "B5": 0.299, "B6": 0.275, "B7": 0.215,
        "B8": 0.203, "B9": 0.154, "C1": 0.307, "C2": 0.235, "C3": 0.228, "C4": 0.167,
    },
    9: {
        "A": 0.518, "B0": 0.944, "B1": 0.837, "B2": 0.742, "B3": 0.658, "B4": 0.584, "B5": 0.311, "B6": 0.317, "B7": 0.240,
        "B8": 0.254, "B9": 0.185, "C1": 0.395, "C2": 0.332, "C3": 0.313, "C4": 0.259, "C5": 0.248, "C6": 0.202, "C7": 0.197,
        "C8": 0.157, "C9": 0.157,
    },
}  # fmt: skip
"""WWG by the number of king-makers, C1 and so on, of A."""


def table_3_points() -> np.ndarray:
    """`(6, 6)`: everybody beats all below."""
    return 4 * np.triu(np.ones((6, 6)), 1)


def table_4_points() -> np.ndarray:
    """`(6, 6)`: A to F, each beating those that the table names."""
    return np.array([[4.0 * (name in beaten) for name in "ABCDEF"] for beaten in _BEATS_4])


def table_5_points(count: int, as_printed: bool = True) -> tuple[list[str], np.ndarray]:
    """Names and points `(n, n)` of A, B0 to B9 and A's `count` king-makers.

    Everybody of B beats those of B below; A loses to B0 to B4 and beats the others; a king-maker loses to A and to B0 to B4,
    beats every other one of B5 to B9, and the king-makers below.

    Args:
        as_printed: with four king-makers, the print has B4 and the king-makers without points against each other, which
            the text contradicts; otherwise B4 beats them, as the text says and as it does with nine.
    """
    names = ["A", *(f"B{k}" for k in range(10)), *(f"C{k}" for k in range(1, count + 1))]
    place = {name: k for k, name in enumerate(names)}
    points = np.zeros((len(names), len(names)))

    def beats(x: str, y: str) -> None:
        points[place[x], place[y]] = 4

    for i in range(10):
        beats(*((f"B{i}", "A") if i < 5 else ("A", f"B{i}")))
        for j in range(i + 1, 10):
            beats(f"B{i}", f"B{j}")
    for i in range(1, count + 1):
        beats("A", f"C{i}")
        for j in range(i + 1, count + 1):
            beats(f"C{i}", f"C{j}")
        for k in range(10):
            wins = k >= 5 and (k - 5) % 2 == (i - 1) % 2
            beats(*((f"C{i}", f"B{k}") if wins else (f"B{k}", f"C{i}")))
    if count == 4 and as_printed:
        points[place["B4"], place["C1"] :] = 0
    return names, points
