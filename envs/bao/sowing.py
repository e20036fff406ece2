"""Sowing seed by seed in plain Python, for animations and for checks of the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def sowings(counts: Sequence[int], hole: int) -> Iterator[tuple[list[int], int]]:
    """The board after each sowing of a move and the hole of its last seed.

    The move ends with the board whose last hole holds a single seed; that board is the last one. An endless move is
    given until board and hole come again, and the last board is then the one the move began with.

    Args:
        counts: seeds per hole, clockwise from the first player's leftmost hole.
        hole: the hole where the move begins (0 is the first player's leftmost hole); it holds seeds.
    """
    board, seen = list(counts), {(tuple(counts), hole)}
    while True:
        hand, board[hole] = board[hole], 0
        for _ in range(hand):
            hole = (hole + 1) % len(board)
            board[hole] += 1
        yield list(board), hole
        state = (tuple(board), hole)
        if board[hole] == 1 or state in seen:
            return
        seen.add(state)


def drops(counts: Sequence[int], hole: int) -> Iterator[tuple[list[int], int, int]]:
    """The board, the hole last touched and the seeds in hand, after every lift and every seed of a move."""
    board = list(counts)
    for after, _ in sowings(counts, hole):
        hand, board[hole] = board[hole], 0
        yield list(board), hole, hand
        while hand:
            hole, hand = (hole + 1) % len(board), hand - 1
            board[hole] += 1
            yield list(board), hole, hand
        assert board == after


def is_endless(counts: Sequence[int], hole: int) -> bool:
    """Whether the move from `hole` never ends."""
    board, last = list(counts), hole
    for board, last in sowings(counts, hole):  # noqa: B007 - only the last pair is wanted
        pass
    return board[last] != 1


def after_move(counts: Sequence[int], hole: int) -> tuple[list[int], int, int]:
    """The board after a move that ends, capture included; the hole of the last seed; the seeds captured."""
    board, last = list(counts), hole
    for board, last in sowings(counts, hole):  # noqa: B007
        pass
    opposite = len(board) - 1 - last
    captured, board[opposite] = board[opposite], 0
    return board, last, captured
