"""Elementary functions with the same bytes on every machine.

`math.sin` and the like depend on the machine: each C library has its own, and some have several, chosen by the
processor. The functions here consist of additions, multiplications, divisions, square roots and bit operations of
`float64` alone, which IEEE 754 rounds in one way only, in the order in which they are written. Kernels call them
compiled; Python runs them uncompiled, with the same bytes (and some thousand times slower).

Every result lies within 1 ulp of the exact value, over all finite arguments; most lie within 0.55. Special values are
those of C's Annex F (`exp(-inf)` is 0, `atan2(0.0, -1.0)` is pi, `power(x, 0.0)` is 1); a NaN is always the same NaN.
Nothing raises. Arguments are converted to `float64`.

The common method: the argument is reduced to a point where the function is known to more than 53 bits (a table, or a
multiple of pi/2 or ln 2), exactly or as a sum of two floats; a short polynomial gives the rest, which is comparatively
small, so that its rounding matters little; the two are added last. The numbers stand in `coefficients`, which
`approximation` computes with mpmath. Classical parts:

* Sums and products with their rounding errors: T. J. Dekker, "A floating-point technique for extending the available
  precision", Numerische Mathematik 18, 1971.
* Reduction by a constant cut in parts: W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980; by
  as many digits of 2/pi as the argument asks for: M. Payne, R. Hanek, SIGNUM Newsletter 18, 1983.
* Values from tables: P. T. P. Tang, "Table-lookup algorithms for elementary functions and their error analysis", 1991.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.core.coefficients import (
    ARC,
    ARCS,
    COSINE,
    ERROR,
    ERRORS,
    EXPONENTIAL,
    HALF_PI,
    HALF_PI_SUM,
    HYPERBOLIC,
    LIMBS,
    LN2,
    LN2_32,
    LOGARITHM,
    LOGARITHMS,
    PI_SUM,
    POWERS,
    SINE,
    TWO_OVER_PI,
)
from asobiba.core.targets import KERNEL, part

__all__ = [
    "acos",
    "asin",
    "atan",
    "atan2",
    "cos",
    "erf",
    "exp",
    "hypot",
    "log",
    "modulo",
    "power",
    "sin",
    "sincos",
    "tanh",
]

exact = part(interpreted=True, **KERNEL)

_INFINITY, _NAN = math.inf, math.nan
_ROUNDER = 6755399441055744.0  # 1.5 * 2^52: a number added to it is rounded to a whole number, found in its last bits
_MANTISSA = 2**52 - 1
_LOW = 2**28 - 1
_UP, _DOWN = math.ldexp(1.0, 1001), math.ldexp(1.0, -100)
_SMALL, _LARGE = math.ldexp(1.0, -600), math.ldexp(1.0, 600)
_LAST = math.ldexp(1.0, -196)
_FIRST = 0x3FE6000000000000  # of 0.6875
_TINY = math.ldexp(1.0, -60)
_EIGHTH = 0.7853981633974483
_NORMAL, _UP_54 = 2.2250738585072014e-308, math.ldexp(1.0, 54)


@exact
def _bits(x):
    return np.float64(x).view(np.int64)


@exact
def _float(bits):
    return np.int64(bits).view(np.float64)


@exact
def _signed(size, x):
    # `size` with the sign of x.
    return -size if _bits(x) < 0 else size


@exact
def _sum(a, b):
    # a + b and its rounding error, exactly.
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@exact
def _split(a):
    # a as a sum of two numbers of 26 bits, for |a| < 2^996.
    far = 134217729.0 * a
    high = far - (far - a)
    return high, a - high


@exact
def _product(a, b):
    # a * b and its rounding error, exactly where neither overflows nor underflows.
    total = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return total, ((a1 * b1 - total) + a1 * b2 + a2 * b1) + a2 * b2


@exact
def _scaled(x, k):
    # x * 2^k with one rounding, for 1/2 < x < 4 and -1100 < k < 1030.
    if k > 1022:
        return x * _float((k + 22) << 52) * _UP
    if k < -1021:
        return x * _float((k + 1123) << 52) * _DOWN
    return x * _float((k + 1023) << 52)


# Sine and cosine.


@exact
def _far_reduced(x):
    # For x >= 2^19: x / (pi/2) in digits of 28 bits. Only those below 4 count, and eight of them are enough: no float
    # is nearer to a multiple of pi/2 than 2^-62.
    bits = _bits(x)
    exponent = (bits >> 52) - 1075
    limb = exponent // 28
    shift = exponent - 28 * limb
    mantissa = (bits & _MANTISSA) | (_MANTISSA + 1)
    # The mantissa times 2^shift, up to 80 bits, in three limbs.
    first = (mantissa & _LOW) << shift
    rest = ((mantissa >> 28) << shift) + (first >> 28)
    m0, m1, m2 = first & _LOW, rest & _LOW, rest >> 28
    carry, scale = 0, _LAST
    high = low_part = 0.0
    at = limb + 10
    for left in range(7, 0, -1):
        total = carry + m0 * LIMBS[at] + m1 * LIMBS[at + 1] + m2 * LIMBS[at + 2]
        digit = total & _LOW
        carry = total >> 28
        if left == 1 and digit >= 134217728:  # 2^27: the nearest multiple is the next one
            digit -= 268435456
            carry += 1
        high, error = _sum(high, np.float64(digit) * scale)
        low_part += error
        scale *= 268435456.0
        at -= 1
    count = carry + m0 * LIMBS[at] + m1 * LIMBS[at + 1] + m2 * LIMBS[at + 2]
    high, low_part = _sum(high, low_part)
    angle, error = _product(high, HALF_PI_SUM[0])
    return count & 3, angle, error + (high * HALF_PI_SUM[1] + low_part * HALF_PI_SUM[0])


@exact
def _reduced(x):
    # The quarter turn of x, modulo 4, and what is left as a sum of two floats, for |x| above an eighth of a turn.
    size = abs(x)
    if size < 524288.0:
        # count * part is exact for the first three parts, and so is the first difference.
        rounded = x * TWO_OVER_PI + _ROUNDER
        count = rounded - _ROUNDER
        high, low = _sum(x - count * HALF_PI[0], -(count * HALF_PI[1]))
        high, lower = _sum(high, -(count * HALF_PI[2]))
        low = (low + lower) - count * HALF_PI[3]
        angle = high + low
        return _bits(rounded) & 3, angle, (high - angle) + low
    if not size < _INFINITY:
        return 0, _NAN, 0.0
    quarter, high, low = _far_reduced(size)
    if x < 0.0:
        return -quarter & 3, -high, -low
    return quarter, high, low


@exact
def _sine_far(z):
    return SINE[0] + z * (SINE[1] + z * (SINE[2] + z * (SINE[3] + z * (SINE[4] + z * SINE[5]))))


@exact
def _cosine_far(z):
    return COSINE[0] + z * (COSINE[1] + z * (COSINE[2] + z * (COSINE[3] + z * (COSINE[4] + z * COSINE[5]))))


@exact
def _sine(x, low):
    z = x * x
    return x + (x * z * _sine_far(z) + low * (1.0 - 0.5 * z)) if x != 0.0 else x  # -0.0 is kept


@exact
def _cosine(x, low):
    z = x * x
    half = 0.5 * z
    near = 1.0 - half
    return near + (((1.0 - near) - half) + (z * z * _cosine_far(z) - x * low))


# The same within an eighth of a turn, without reduction: `low` is 0. Most arguments lie there, and it takes half the
# time.


@exact
def _near_sine(x):
    z = x * x
    return x + x * z * _sine_far(z) if x != 0.0 else x


@exact
def _near_cosine(x):
    z = x * x
    half = 0.5 * z
    near = 1.0 - half
    return near + (((1.0 - near) - half) + z * z * _cosine_far(z))


@exact
def sin(x):
    """Sine of `x` radians; NaN for what is not finite."""
    x = np.float64(x)
    if abs(x) <= _EIGHTH:
        return _near_sine(x)
    quarter, high, low = _reduced(x)
    value = _cosine(high, low) if quarter & 1 else _sine(high, low)
    return -value if quarter & 2 else value


@exact
def cos(x):
    """Cosine of `x` radians; NaN for what is not finite."""
    x = np.float64(x)
    if abs(x) <= _EIGHTH:
        return _near_cosine(x)
    quarter, high, low = _reduced(x)
    value = _sine(high, low) if quarter & 1 else _cosine(high, low)
    return -value if (quarter + 1) & 2 else value


@exact
def sincos(x):
    """`(sin(x), cos(x))`, for little more than one of them."""
    x = np.float64(x)
    if abs(x) <= _EIGHTH:
        return _near_sine(x), _near_cosine(x)
    quarter, high, low = _reduced(x)
    sine, cosine = _sine(high, low), _cosine(high, low)
    if quarter & 1:
        sine, cosine = cosine, sine
    return -sine if quarter & 2 else sine, -cosine if (quarter + 1) & 2 else cosine


# Angles.


@exact
def _angle(y, y_low, x, x_low):
    # The angle of (x + x_low, y + y_low) for 0 <= y <= x, as a sum. With c = k/32 next to y/x it is the angle of c and
    # that of (y - c x) / (x + c y), whose dividend is exact here, and the error of whose quotient is made good.
    k = np.int64(32.0 * (y / x) + 0.5)
    c = np.float64(k) * 0.03125
    x1, x2 = _split(x)
    top, top_low = _sum(y - c * x1, -(c * x2))
    bottom, bottom_low = _sum(x, c * y)
    inverse = 1.0 / bottom
    t = top * inverse
    product, error = _product(t, bottom)
    rest = ((top - product) - error) + ((top_low + (y_low - c * x_low)) - t * (bottom_low + (x_low + c * y_low)))
    z = t * t
    far = t * z * (ARC[0] + z * (ARC[1] + z * (ARC[2] + z * (ARC[3] + z * ARC[4]))))
    high, low = _sum(ARCS[k, 0], t)
    return high, low + (ARCS[k, 1] + (rest * inverse + far))


@exact
def _less(whole, whole_low, angle, low):
    # The rest of a half or a quarter turn.
    high, error = _sum(whole, -angle)
    return high, error + (whole_low - low)


@exact
def atan2(y, x):
    """The angle of the point (x, y), from -pi to pi; that of (0, 0) is 0 or pi, by the signs of the zeros."""
    y, x = np.float64(y), np.float64(x)
    if not (y == y and x == x):
        return _NAN
    small, large = abs(y), abs(x)
    left = _bits(x) < 0
    steep = small > large
    if steep:
        small, large = large, small
    if large == _INFINITY:
        if small == _INFINITY:
            return _signed(2.356194490192345 if left else 0.7853981633974483, y)
        if steep:
            return _signed(HALF_PI_SUM[0], y)
        return _signed(PI_SUM[0] if left else 0.0, y)
    if small <= large * _TINY:
        if steep:
            return _signed(HALF_PI_SUM[0], y)
        if left:
            return _signed(PI_SUM[0], y)
        return y if large == 0.0 else y / x
    if large > 1e150:
        small, large = small * _SMALL, large * _SMALL
    elif large < 1e-100:
        small, large = small * _LARGE, large * _LARGE
    high, low = _angle(small, 0.0, large, 0.0)
    if steep:
        high, low = _less(HALF_PI_SUM[0], HALF_PI_SUM[1], high, low)
    if left:
        high, low = _less(PI_SUM[0], PI_SUM[1], high, low)
    return _signed(high + low, y)


@exact
def atan(x):
    """The angle from -pi/2 to pi/2 whose tangent is `x`."""
    return atan2(x, 1.0)


@exact
def _other_side(x):
    # The root of 1 - x^2 as a sum, for |x| < 1.
    square, square_low = _product(x, x)
    rest, error = _sum(1.0, -square)
    side = math.sqrt(rest)
    product, product_low = _product(side, side)
    return side, (((rest - product) - product_low) + (error - square_low)) / (2.0 * side)


@exact
def asin(x):
    """The angle from -pi/2 to pi/2 whose sine is `x`; NaN beyond 1."""
    x = np.float64(x)
    size = abs(x)
    if not size <= 1.0:
        return _NAN
    if size < 1e-9:
        return x
    if size == 1.0:
        return _signed(HALF_PI_SUM[0], x)
    side, side_low = _other_side(size)
    if size <= side:
        high, low = _angle(size, 0.0, side, side_low)
    else:
        high, low = _angle(side, side_low, size, 0.0)
        high, low = _less(HALF_PI_SUM[0], HALF_PI_SUM[1], high, low)
    return _signed(high + low, x)


@exact
def acos(x):
    """The angle from 0 to pi whose cosine is `x`; NaN beyond 1."""
    x = np.float64(x)
    size = abs(x)
    if not size <= 1.0:
        return _NAN
    if size == 1.0:
        return 0.0 if x > 0.0 else PI_SUM[0]
    side, side_low = _other_side(size)
    if size <= side:
        high, low = _angle(size, 0.0, side, side_low)
        high, low = _less(HALF_PI_SUM[0], HALF_PI_SUM[1], high, low)
    else:
        high, low = _angle(side, side_low, size, 0.0)
    if x < 0.0:
        high, low = _less(PI_SUM[0], PI_SUM[1], high, low)
    return high + low


# Exponentials and logarithms.


@exact
def _exponential(x, low):
    # exp(x + low), where it is neither infinite nor 0, as a sum times 2^k.
    rounded = x * LN2_32[0] + _ROUNDER
    count = rounded - _ROUNDER
    k = _bits(rounded) - _bits(_ROUNDER)
    r = (x - count * LN2_32[1]) - count * LN2_32[2] + low
    z = r * r
    far = r + z * (
        (EXPONENTIAL[0] + r * EXPONENTIAL[1]) + z * ((EXPONENTIAL[2] + r * EXPONENTIAL[3]) + z * EXPONENTIAL[4])
    )
    near = POWERS[k & 31, 0]
    return near, POWERS[k & 31, 1] + near * far, k >> 5


@exact
def exp(x):
    """e to the power `x`; infinite above 709.78, 0 below -745.13."""
    x = np.float64(x)
    if not x <= 709.782712893384:
        return _INFINITY if x > 0.0 else _NAN
    if x < -745.1332191019412:
        return 0.0
    near, rest, k = _exponential(x, 0.0)
    return _scaled(near + rest, k)


@exact
def _log_row(bits):
    # Of a normal number x > 0 by its bits: x = 2^k m, with 0.6875 <= m < 1.375; k, the row of the table for m, and m times
    # the row's short number, less 1, as a sum, exactly.
    above = bits - _FIRST
    k = above >> 52
    bits -= k << 52
    row = (above >> 46) & 63
    short = LOGARITHMS[row, 0]
    rough = _float(bits & -2048)
    product = rough * short - 1.0
    rest = (_float(bits) - rough) * short
    r = product + rest
    return k, row, r, (product - r) + rest


@exact
def log(x):
    """The natural logarithm of `x`; -infinity of 0, NaN of what is negative."""
    x = np.float64(x)
    bits, more = _bits(x), 0
    if not _NORMAL <= x < _INFINITY:
        if not 0.0 < x < _INFINITY:
            return -_INFINITY if x == 0.0 else _INFINITY if x > 0.0 else _NAN
        bits, more = _bits(x * _UP_54), -54
    k, row, r, r_low = _log_row(bits)
    count = np.float64(k + more)
    near = count * LN2[0] + LOGARITHMS[row, 1]
    high = near + r
    low = ((near - high) + r) + (r_low + (count * LN2[1] + LOGARITHMS[row, 2]))
    z = r * r
    far = (LOGARITHM[0] + r * LOGARITHM[1]) + z * (
        (LOGARITHM[2] + r * LOGARITHM[3]) + z * ((LOGARITHM[4] + r * LOGARITHM[5]) + z * LOGARITHM[6])
    )
    return high + (low + z * (r * far - 0.5))


@exact
def _log_sum(x):
    # The logarithm of x as a sum, to 2^-68 of itself.
    more = 0
    if x < _NORMAL:
        x *= _UP_54
        more = -54
    k, row, r, r_low = _log_row(_bits(x))
    count = np.float64(k + more)
    square, square_low = _product(r, r)
    far = LOGARITHM[4] + r * (LOGARITHM[5] + r * (LOGARITHM[6] + r * LOGARITHM[7]))
    far = LOGARITHM[0] + r * (LOGARITHM[1] + r * (LOGARITHM[2] + r * (LOGARITHM[3] + r * far)))
    high, low = _sum(count * LN2[0] + LOGARITHMS[row, 1], r)
    high, lower = _sum(high, -0.5 * square)
    low += lower + (r_low - 0.5 * square_low - r * r_low) + (count * LN2[1] + LOGARITHMS[row, 2]) + square * r * far
    return _sum(high, low)


@exact
def _parity(y):
    # Of a float that is not NaN: 0 for an even number, 1 for an odd one, 2 for what is not a whole number.
    size = abs(y)
    if size >= 9007199254740992.0:  # 2^53
        return 0
    whole = np.int64(size)
    return whole & 1 if np.float64(whole) == size else 2


@exact
def power(x, y):
    """`x` to the power `y`; NaN where `x` is negative and `y` no whole number. `power(x, 0.0)` and `power(1.0, y)` are 1."""
    x, y = np.float64(x), np.float64(y)
    if y == 0.0 or x == 1.0:
        return 1.0
    if not (x == x and y == y):
        return _NAN
    size = abs(x)
    parity = _parity(y)
    minus = parity == 1 and _bits(x) < 0
    if size == 0.0 or size == _INFINITY:
        value = 0.0 if (size == 0.0) == (y > 0.0) else _INFINITY
        return -value if minus else value
    if abs(y) > 3.6e19:  # beyond this and below the inverse of it, nothing else matters
        if size == 1.0:
            return 1.0
        return _INFINITY if (size > 1.0) == (y > 0.0) else 0.0
    if x < 0.0 and parity == 2:
        return _NAN
    if abs(y) < 2.7e-20:
        return 1.0
    log_high, log_low = _log_sum(size)
    high, low = _product(y, log_high)
    low += y * log_low
    if high > 709.79:
        value = _INFINITY
    elif high < -745.14:
        value = 0.0
    else:
        near, rest, k = _exponential(high, low)
        value = _scaled(near + rest, k)
    return -value if minus else value


@exact
def tanh(x):
    """Hyperbolic tangent of `x`."""
    x = np.float64(x)
    size = abs(x)
    if not size < 22.0:
        return _signed(1.0, x) if size >= 22.0 else _NAN
    if size < 0.125:
        z = x * x
        far = HYPERBOLIC[4] + z * (HYPERBOLIC[5] + z * (HYPERBOLIC[6] + z * HYPERBOLIC[7]))
        far = HYPERBOLIC[0] + z * (HYPERBOLIC[1] + z * (HYPERBOLIC[2] + z * (HYPERBOLIC[3] + z * far)))
        return x + x * z * far if x != 0.0 else x
    near, rest, k = _exponential(2.0 * size, 0.0)
    scale = _float((k + 1023) << 52)
    near, rest = _sum(near, rest)
    bottom, low = _sum(near * scale, 1.0)
    low += rest * scale
    inverse = 1.0 / bottom
    part = 2.0 * inverse
    product, error = _product(part, bottom)
    part_low = (((2.0 - product) - error) - part * low) * inverse
    high, low = _sum(1.0, -part)
    return _signed(high + (low - part_low), x)


# Other functions.


@exact
def hypot(x, y):
    """The length of (x, y), without overflow on the way; infinite if one of them is, even if the other is NaN."""
    small, large = abs(np.float64(x)), abs(np.float64(y))
    if small > large:
        small, large = large, small
    if small == _INFINITY or large == _INFINITY:
        return _INFINITY
    if not (small == small and large == large):
        return _NAN
    back = 1.0
    if large > 1e150:
        small, large, back = small * _SMALL, large * _SMALL, _LARGE
    elif large < 1e-140:
        small, large, back = small * _LARGE, large * _LARGE, _SMALL
    if small <= large * _TINY:
        return (large + small) * back
    square, error = _product(large, large)
    other, other_error = _product(small, small)
    total, rest = _sum(square, other)
    root = math.sqrt(total)
    product, product_error = _product(root, root)
    return (root + (((total - product) - product_error) + (rest + (error + other_error))) / (2.0 * root)) * back


@exact
def modulo(x, y):
    """`x` less the multiple of `y` below it, from 0 to below `y`, for finite `x` and `y` > 0 with |x / y| < 2^50."""
    x, y = np.float64(x), np.float64(y)
    product, error = _product(math.floor(x / y) * 1.0, y)
    rest = (x - product) - error
    if rest < 0.0:
        rest += y
    return rest if rest < y else rest - y


@exact
def erf(x):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to `x`."""
    x = np.float64(x)
    size = abs(x)
    if not size < 6.0:
        return _signed(1.0, x) if size >= 6.0 else _NAN
    if size < 0.875:
        z = x * x
        far = ERROR[7] + z * (ERROR[8] + z * (ERROR[9] + z * (ERROR[10] + z * (ERROR[11] + z * ERROR[12]))))
        far = ERROR[2] + z * (ERROR[3] + z * (ERROR[4] + z * (ERROR[5] + z * (ERROR[6] + z * far))))
        return x + x * (ERROR[0] + z * (ERROR[1] + z * far))
    row = np.int64(8.0 * size)
    h = size - (np.float64(row) + 0.5) * 0.125
    row -= 7
    far = ERRORS[row, 11]
    for k in range(10, 1, -1):
        far = ERRORS[row, k] + h * far
    return _signed(ERRORS[row, 0] + (ERRORS[row, 1] + h * far), x)
