"""Computes the numbers of `asobiba.core.coefficients`: `python -m asobiba.core.approximation` writes that file again.

Every number comes from mpmath, at 60 digits, by the methods described here; none is taken from another library.

* Polynomials interpolate at the zeros of a Chebyshev polynomial, which is within a small factor of the best
  approximation; their coefficients are then rounded to `float64`.
* Numbers that need more than 53 bits are sums of `float64`. A part that is multiplied by a whole number is short enough
  for the product to be exact.
* Tables hold a function's values at places that `asobiba.core.elementary` goes on from with a polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath as mp

DIGITS = 60
HEAD = '''"""Numbers of `asobiba.core.elementary`, written by `python -m asobiba.core.approximation`, which describes them."""

import numpy as np
'''


def polynomial(function: Callable[[Any], Any], low: Any, high: Any, degree: int) -> list[float]:
    """Coefficients, constant first, of the polynomial in `x - centre of 0` that interpolates at Chebyshev's points."""
    low, high, count = mp.mpf(low), mp.mpf(high), degree + 1
    at = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    powers = mp.matrix(count, count)
    for row, x in enumerate(at):
        for column in range(count):
            powers[row, column] = x**column
    return [float(each) for each in mp.lu_solve(powers, mp.matrix([function(x) for x in at]))]


def cut(value: Any, step: int) -> float:
    """The multiple of `2**step` next to `value`."""
    return float(mp.nint(mp.ldexp(value, -step)) * mp.mpf(2) ** step)


def parts(value: Any, steps: Sequence[int]) -> list[float]:
    """`value` as a sum: multiples of `2**step` for each of `steps`, then the `float64` next to the rest."""
    found = []
    for step in steps:
        found.append(cut(value, step))
        value -= mp.mpf(found[-1])
    return [*found, float(value)]


def sine(z: Any) -> Any:
    """(sin(x) / x - 1) / x^2 as a function of z = x^2."""
    return mp.nsum(lambda k: (-1) ** (int(k) + 1) * z ** int(k) / mp.factorial(2 * int(k) + 3), [0, 25])


def cosine(z: Any) -> Any:
    """(cos(x) - 1 + x^2 / 2) / x^4 as a function of z = x^2."""
    return mp.nsum(lambda k: (-1) ** int(k) * z ** int(k) / mp.factorial(2 * int(k) + 4), [0, 25])


def exponential(r: Any) -> Any:
    """(exp(r) - 1 - r) / r^2."""
    return mp.fsum(r**k / mp.factorial(k + 2) for k in range(25))


def logarithm(r: Any) -> Any:
    """(log(1 + r) - r + r^2 / 2) / r^3."""
    return mp.fsum((-r) ** k / (k + 3) for k in range(60))


def arc(z: Any) -> Any:
    """(atan(t) / t - 1) / t^2 as a function of z = t^2."""
    return -mp.fsum((-z) ** k / (2 * k + 3) for k in range(60))


def error(z: Any) -> Any:
    """erf(x) / x - 1 as a function of z = x^2."""
    return 2 / mp.sqrt(mp.pi) * mp.fsum((-z) ** k / (mp.factorial(k) * (2 * k + 1)) for k in range(80)) - 1


def hyperbolic(z: Any) -> Any:
    """(tanh(x) / x - 1) / x^2 as a function of z = x^2."""
    return mp.fsum(
        4 ** (k + 2) * (4 ** (k + 2) - 1) * mp.bernoulli(2 * k + 4) / mp.factorial(2 * k + 4) * z**k for k in range(40)
    )


def logarithm_rows() -> list[list[float]]:
    """For each of 64 parts of [0.6875, 1.375), as equal in the bits of a float: a short number next to 1 / x in its
    middle, and the logarithm of its inverse in two parts, the first a multiple of 2^-42."""
    rows = []
    for k in range(64):
        low, high = (mp.mpf(0.6875) + mp.mpf(at) / 128 if at <= 40 else 1 + mp.mpf(at - 40) / 64 for at in (k, k + 1))
        short = mp.mpf(1) if k in (39, 40) else mp.mpf(cut(2 / (low + high), -9))
        rows.append([float(short), *parts(-mp.log(short), [-42])])
    return rows


def error_rows() -> list[list[float]]:
    """For each eighth of [7/8, 6): the value of erf in its middle, in two parts, and the polynomial of the rest, over h."""
    rows = []
    for k in range(7, 48):
        middle = mp.mpf(2 * k + 1) / 16
        value = mp.erf(middle)

        def rest(h: Any, middle: Any = middle, value: Any = value) -> Any:
            return (mp.erf(middle + h) - value) / h

        rows.append([*parts(value, [-53]), *polynomial(rest, mp.mpf(-1) / 16, mp.mpf(1) / 16, 9)])
    return rows


def two_over_pi(limbs: int) -> list[int]:
    """The binary digits of 2 / pi after the point, 28 at a time."""
    with mp.workprec(28 * limbs + 64):
        digits = int(mp.floor(mp.ldexp(2 / mp.pi, 28 * limbs)))
    return [(digits >> (28 * (limbs - 1 - k))) & (2**28 - 1) for k in range(limbs)]


def text() -> str:
    """The module's source."""
    with mp.workdps(DIGITS):
        quarter = (mp.pi / 4) ** 2 * mp.mpf("1.001")
        numbers: dict[str, Any] = {
            "SINE": polynomial(sine, 0, quarter, 5),
            "COSINE": polynomial(cosine, 0, quarter, 5),
            "HALF_PI": parts(mp.pi / 2, [-32, -65, -98]),
            "PI_SUM": parts(mp.pi, [-51]),
            "HALF_PI_SUM": parts(mp.pi / 2, [-52]),
            "TWO_OVER_PI": float(2 / mp.pi),
            "EXPONENTIAL": polynomial(exponential, -mp.log(2) / 63, mp.log(2) / 63, 4),
            "LN2_32": [float(32 / mp.log(2)), *parts(mp.log(2) / 32, [-43])],
            "LN2": parts(mp.log(2), [-42]),
            "LOGARITHM": polynomial(logarithm, -mp.mpf(1) / 64, mp.mpf(1) / 64, 7),
            "ARC": polynomial(arc, 0, mp.mpf("1.01") / 64**2, 4),
            "HYPERBOLIC": polynomial(hyperbolic, 0, mp.mpf("1.01") / 64, 7),
            "ERROR": polynomial(error, 0, (mp.mpf(7) / 8) ** 2, 12),
        }
        tables: dict[str, list[Any]] = {
            "POWERS": [parts(mp.mpf(2) ** (mp.mpf(k) / 32), [-52]) for k in range(32)],
            "LOGARITHMS": logarithm_rows(),
            "ARCS": [parts(mp.atan(mp.mpf(k) / 32), [-54]) for k in range(33)],
            "ERRORS": error_rows(),
            "LIMBS": [0] * 4 + two_over_pi(48),
        }
    lines = [HEAD]
    for name, values in numbers.items():
        several = isinstance(values, list)
        lines.append(
            f"{name} = " + ("(\n" + "".join(f"    {each!r},\n" for each in values) + ")" if several else repr(values))
        )
    for name, rows in tables.items():
        body = "".join("    " + repr(row) + ",\n" for row in rows)
        lines.append(f"{name} = np.array([\n{body}])  # fmt: skip")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("coefficients.py").write_text(text(), encoding="utf-8")
