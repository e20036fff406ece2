"""The elementary functions against mpmath, against IEEE 754's special values, and compiled against interpreted."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from numba import njit

from asobiba.core import approximation, coefficients, elementary

INF, NAN = math.inf, math.nan
ONE_ARGUMENT = ("sin", "cos", "exp", "log", "atan", "asin", "acos", "erf", "tanh")
EXACT = {"sqrt", *(f"llvm.{name}.f{bits}" for name in ("sqrt", "fabs", "copysign", "floor") for bits in (32, 64))}
TWO_ARGUMENTS = ("atan2", "hypot", "power")


def nearest_to_quarter_turns():
    """For each exponent, the floats that come nearest to a multiple of pi/2, from continued fractions."""
    found = []
    with mp.workprec(2400):
        digits = int(mp.floor(mp.ldexp(2 / mp.pi, 2300)))
    for exponent in range(-33, 971, 2):
        top, bottom = digits << max(exponent, 0), 1 << (2300 + max(-exponent, 0))
        before, last = 1, 0  # denominators of the convergents of 2^exponent 2/pi
        while last < 2**53:
            whole, (top, bottom) = top // bottom, (bottom, top % bottom)
            before, last = last, whole * last + before
        found.append(math.ldexp(before, exponent))
    return found


def arguments(count, seed=1):
    """By function: arguments over all its range, and where it is difficult."""
    draw = np.random.default_rng(seed)

    def spread(low, high):
        return np.exp(draw.uniform(np.log(low), np.log(high), count)) * draw.choice([-1, 1], count)

    with mp.workprec(200):
        turns = [float(int(k) * mp.pi / 2) for k in draw.integers(1, 2**62, count) >> draw.integers(0, 60, count)]
    waves = [draw.uniform(-10, 10, count), draw.uniform(-6e5, 6e5, count), spread(1e-310, 1e308), turns]
    edges = [2.0**19, np.nextafter(2.0**19, 0), math.pi / 4, np.nextafter(math.pi / 4, 1), 6381956970095103 * 2.0**797]
    to_one = [draw.uniform(-1, 1, count), spread(1e-20, 1), 1 - abs(spread(1e-16, 1)), abs(spread(1e-16, 1)) - 1]
    logs = [abs(spread(1e-323, 1e308)), draw.uniform(0.5, 2, count), 1 + spread(1e-16, 0.1)]
    bases = np.concatenate([abs(spread(1e-323, 1e308)), abs(spread(0.1, 10)), 1 + spread(1e-16, 0.1)])
    powers = draw.uniform(-740, 709, len(bases)) / np.log(bases)
    across, up = (np.concatenate([spread(1e-320, 1e308), draw.normal(size=count), spread(1, 10)]) for _ in range(2))
    return {
        "sin": [*waves, edges],
        "cos": [*waves, edges],
        "exp": [draw.uniform(-746, 710, count), draw.uniform(-1, 1, count), spread(1e-300, 1), [709.782712893384, -745.1332191019412]],
        "log": logs,
        "atan": [spread(1e-320, 1e300), draw.uniform(-3, 3, count)],
        "asin": to_one,
        "acos": to_one,
        "erf": [draw.uniform(-6.2, 6.2, count), draw.uniform(-1, 1, count), spread(1e-310, 1)],
        "tanh": [draw.uniform(-23, 23, count), draw.uniform(-1, 1, count), spread(1e-310, 1)],
        "atan2": ([up], [across]),
        "hypot": ([up], [across]),
        "power": ([bases, draw.uniform(0, 300, count)], [powers, draw.choice([0.4, 0.5, -1.0, 2.0, 3.0], count)]),
    }  # fmt: skip


def exact_value(name, values):
    function = mp.sqrt if name == "hypot" else getattr(mp, name)
    given = [mp.mpf(value) for value in values]
    return function(given[0] ** 2 + given[1] ** 2) if name == "hypot" else function(*given)


def units_apart(value, exact):
    """Distance of a float from the exact value, in the exact value's units in the last place."""
    if abs(exact) >= mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -54):
        return 0.0 if value == mp.sign(exact) * INF else INF
    unit = mp.mpf(2) ** max((mp.frexp(exact)[1] if exact else -2000) - 53, -1074)
    return float(abs(mp.mpf(float(value)) - exact) / unit)


def furthest(name, columns, compute):
    """The greatest error over these arguments, in ulp."""
    with mp.workprec(1400 if name in ("sin", "cos") else 300):
        rows = zip(*(np.concatenate(column).tolist() for column in columns))
        return max((units_apart(compute(*row), exact_value(name, row)), row) for row in rows)


def columns_of(given):
    return given if isinstance(given, tuple) else (given,)


@pytest.mark.parametrize("name", ONE_ARGUMENT + TWO_ARGUMENTS)
def test_within_one_unit_in_the_last_place(name):
    worst, at = furthest(name, columns_of(arguments(150)[name]), getattr(elementary, name))
    assert worst < 1.0, at


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_arguments_nearest_to_multiples_of_a_quarter_turn(name):
    given = nearest_to_quarter_turns()
    with mp.workprec(1400):
        assert min(abs(mp.cos(x)) for x in given) < 1e-18, "these are not the difficult ones"
    worst, at = furthest(name, ([given],), getattr(elementary, name))
    assert worst < 1.0, at


SPECIAL = {
    "sin": [((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), NAN), ((-INF,), NAN), ((NAN,), NAN)],
    "cos": [((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), NAN), ((-INF,), NAN), ((NAN,), NAN)],
    "exp": [((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), INF), ((-INF,), 0.0), ((NAN,), NAN), ((710.0,), INF), ((-746.0,), 0.0)],
    "log": [((0.0,), -INF), ((-0.0,), -INF), ((1.0,), 0.0), ((INF,), INF), ((-1.0,), NAN), ((-INF,), NAN), ((NAN,), NAN)],
    "atan": [((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), math.pi / 2), ((-INF,), -math.pi / 2), ((NAN,), NAN)],
    "asin": [((0.0,), 0.0), ((-0.0,), -0.0), ((1.0,), math.pi / 2), ((-1.0,), -math.pi / 2), ((1.0000001,), NAN), ((NAN,), NAN)],
    "acos": [((1.0,), 0.0), ((-1.0,), math.pi), ((1.0000001,), NAN), ((-INF,), NAN), ((NAN,), NAN)],
    "erf": [((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), 1.0), ((-INF,), -1.0), ((NAN,), NAN)],
    "tanh": [((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), 1.0), ((-INF,), -1.0), ((NAN,), NAN)],
    "hypot": [
        ((0.0, 0.0), 0.0), ((-0.0, -0.0), 0.0), ((3.0, -4.0), 5.0), ((-INF, NAN), INF), ((NAN, INF), INF), ((NAN, 1.0), NAN),
        ((1e308, 1e308), 1e308 * math.sqrt(2.0)), ((5e-324, 0.0), 5e-324), ((1.7e308, 1.7e308), INF),
    ],
    "atan2": [
        ((0.0, 1.0), 0.0), ((-0.0, 1.0), -0.0), ((0.0, -1.0), math.pi), ((-0.0, -1.0), -math.pi), ((0.0, 0.0), 0.0),
        ((-0.0, 0.0), -0.0), ((0.0, -0.0), math.pi), ((-0.0, -0.0), -math.pi), ((1.0, 0.0), math.pi / 2),
        ((-1.0, -0.0), -math.pi / 2), ((1.0, INF), 0.0), ((-1.0, INF), -0.0), ((1.0, -INF), math.pi), ((-1.0, -INF), -math.pi),
        ((INF, 1.0), math.pi / 2), ((-INF, -1.0), -math.pi / 2), ((INF, INF), math.pi / 4), ((-INF, INF), -math.pi / 4),
        ((INF, -INF), 3 * math.pi / 4), ((-INF, -INF), -3 * math.pi / 4), ((NAN, 1.0), NAN), ((1.0, NAN), NAN),
    ],
    "power": [
        ((0.0, 3.0), 0.0), ((-0.0, 3.0), -0.0), ((-0.0, 2.0), 0.0), ((0.0, -3.0), INF), ((-0.0, -3.0), -INF), ((-0.0, -2.0), INF),
        ((-0.0, 0.5), 0.0), ((-0.0, -0.5), INF), ((-1.0, INF), 1.0), ((-1.0, -INF), 1.0), ((1.0, NAN), 1.0), ((NAN, 0.0), 1.0),
        ((-INF, -0.0), 1.0), ((-8.0, 1 / 3), NAN), ((0.5, -INF), INF), ((2.0, -INF), 0.0), ((0.5, INF), 0.0), ((2.0, INF), INF),
        ((-INF, -3.0), -0.0), ((-INF, -2.0), 0.0), ((-INF, 3.0), -INF), ((-INF, 2.0), INF), ((INF, -1.0), 0.0), ((INF, 1.0), INF),
        ((-2.0, 3.0), -8.0), ((-2.0, -2.0), 0.25), ((NAN, 1.0), NAN), ((2.0, NAN), NAN), ((2.0, 1024.0), INF), ((2.0, -1080.0), 0.0),
        ((2.0, -1074.0), 5e-324), ((-2.0, 1023.0), -(2.0**1023)), ((1.5, 1e300), INF), ((-0.5, 1e300), 0.0), ((2.0, 1e-300), 1.0),
    ],
}  # fmt: skip


def raw(value):
    return np.float64(value).tobytes().hex()


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_of_ieee_754(name):
    with np.errstate(over="ignore"):
        found = [(given, raw(getattr(elementary, name)(*given))) for given, _ in SPECIAL[name]]
    assert found == [(given, raw(value)) for given, value in SPECIAL[name]]


@njit(error_model="numpy")
def compiled_values(one, two, three, out):
    for k in range(out.shape[0]):
        x, y = one[k], two[k]
        out[k, 0], out[k, 1] = elementary.sin(x), elementary.cos(x)
        out[k, 2], out[k, 3] = elementary.exp(y), elementary.log(x)
        out[k, 4], out[k, 5] = elementary.atan(x), elementary.asin(y)
        out[k, 6], out[k, 7] = elementary.acos(y), elementary.erf(y)
        out[k, 8], out[k, 9] = elementary.atan2(x, y), elementary.hypot(x, y)
        out[k, 10] = elementary.power(x, y)
        out[k, 11], out[k, 12] = elementary.sincos(y)
        out[k, 15], out[k, 16] = elementary.tanh(y), elementary.modulo(y, 1.5)
        out[k, 13], out[k, 14] = elementary.exp(three[k]), elementary.power(three[k], np.float32(0.4))
    return out


def test_compiled_and_interpreted_give_the_same_bytes():
    draw = np.random.default_rng(3)
    one = draw.integers(0, 2**64, 600, dtype=np.uint64).view(np.float64)
    one[:300] = draw.normal(size=300) * np.exp(draw.uniform(-40, 40, 300))
    one[:9] = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 5e-324, 2.0**19]
    two = draw.normal(size=600) * np.exp(draw.uniform(-20, 8, 600))
    two[:5] = [0.0, -0.0, 1.0, -1.0, 5e-324]
    three = two.astype(np.float32)
    out = np.zeros((600, 17))
    compiled = compiled_values(one, two, three, out.copy())
    with np.errstate(all="ignore"):
        plain = compiled_values.py_func(one, two, three, out)
    assert compiled.tobytes() == plain.tobytes()
    assert np.isnan(compiled).sum() < 2000


def test_modulo_is_the_exact_rest():
    draw = np.random.default_rng(4)
    given = zip(
        (draw.normal(size=2000) * np.exp(draw.uniform(-5, 20, 2000))).tolist(), draw.uniform(0.1, 9, 2000).tolist()
    )
    for x, y in [*given, (7.5, 2.5), (-7.5, 2.5), (0.0, 1.0), (-1e-20, 1.0)]:
        exact = Fraction(x) % Fraction(y)
        assert elementary.modulo(x, y) in (float(exact), 0.0 if float(exact) == y else float(exact))


def test_the_compiled_functions_call_no_library():
    """Nor do they allow a multiplication and an addition to become one instruction, or sums another order."""
    text = compiled_values.inspect_llvm(compiled_values.signatures[0])
    declared = set(re.findall(r"^declare \w+ @([\w.]+)\(", text, re.M))
    floating = {name for name in declared if re.search(rf"^declare (double|float) @{re.escape(name)}\(", text, re.M)}
    assert floating - {"PyFloat_AsDouble"} <= EXACT, floating
    assert re.search(r"= fadd double", text)
    assert not re.search(r"= f(add|sub|mul|div|neg) (fast|reassoc|contract|nnan|ninf|nsz|arcp|afn)", text)


def test_the_numbers_are_those_that_the_script_makes():
    assert Path(coefficients.__file__).read_text(encoding="utf-8") == approximation.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_ARGUMENT + TWO_ARGUMENTS)
def test_within_one_unit_in_the_last_place_at_many_places(name):
    worst, at = furthest(name, columns_of(arguments(20_000, seed=2)[name]), getattr(elementary, name))
    assert worst < 1.0, at
