"""The probability that a weighted sum of gamma variables is at most 0, for Gaffke's test.

Q = Σ a_j G_j with weights a_j of either sign and independent G_j of Gamma(k_j, 1). With
κ(s) = ln E exp(sQ) = -Σ k_j ln(1 - a_j s), the inverse Laplace transform gives for E Q > 0

    P(Q <= 0) = -1/(2πi) ∫ exp κ(s) / s ds

along any path upwards that crosses the real axis once, at -θ in (1 / min a, 0). For E Q <= 0, the
integral for -Q gives P(Q <= 0) = 1 - P(-Q <= 0).

If -θ is the saddle point of the integrand, no terms cancel, so small probabilities keep all their
digits. From there the path is a branch of a hyperbola: it begins along the steepest descent,
x = κ‴/(6κ″) y², and ends as a ray. After the substitution y = w sinh u, the trapezoidal rule
converges geometrically.

This curve is tried first. It fails if the integrand grows on it, as with a few weights far below
many others, or if the phase of the integrand turns by more than half a circle in one step. Then a
vertical line in ever finer steps is used. The line is not tried first, because the integrand
oscillates too fast on it if one term outweighs the rest (an error of 5% at a probability of
e^-100).

Sources: Rice, "Efficient evaluation of integrals of analytic functions by the trapezoidal rule",
Bell System Technical Journal 52(5), 1973; Weideman and Trefethen, "Parabolic and hyperbolic
contours for computing the Bromwich integral", Mathematics of Computation 76, 2007.
"""

from __future__ import annotations

from itertools import accumulate, repeat
from math import exp, expm1, inf, isfinite, log, log1p, pi

import numpy as np

from fullrecall.measures.lists import Floats

_ZERO = 1e-15
"""Weights with a smaller absolute value count as 0, since rounding errors of 0 are as large."""

_SLOPE = 0.5
"""|x / y| at the far ends of the path; below 1, so that the integrand of a normally distributed sum
decays there too.
"""

_STEP = 0.04
"""The width of the trapezoids in u."""

_BLOCK = 64
"""The number of points that are computed before the end of the integrand is checked."""

_NEGLIGIBLE = 1e-16
"""The integral stops where the integrand is below this share of its value at -θ."""

_UNRESOLVED = 1e-12
"""Below this share of its value at -θ, the integrand is so small that its phase may turn faster."""

_FINER = 7
"""The most attempts on a straight path; each has steps a quarter as wide as the one before."""

_FARTHEST = 100 * _BLOCK * _STEP
"""The largest u, at which y has grown by e^256 and every integrand has vanished."""


def log_probability_below_zero(weights: Floats, shapes: Floats) -> float:
    """Return ln P(Σ weights_j · Gamma(shapes_j) <= 0), in [-inf, 0].

    `weights` are finite, `shapes` above 0 and need not be whole. Raises `ArithmeticError` rather
    than return NaN.
    """
    away = np.abs(weights) >= _ZERO
    weights, shapes = weights[away], shapes[away]
    if not (weights > 0).any():
        return 0.0
    if not (weights < 0).any():
        return -inf
    for side in (-1, 1):
        alone = weights * side > 0
        if shapes[alone].tolist() == [1.0]:
            return _log_beside_exponential(weights / weights[alone], shapes, side)
    if float(weights @ shapes) > 0:
        return min(0.0, _log_lower_tail(weights, shapes))
    above = exp(_log_lower_tail(-weights, shapes))
    return log1p(-above) if above < 1 else -inf


def t_tails(df: float, t: float) -> float:
    """Return the probability that |T| > |t| for Student's T with `df` degrees of freedom."""
    # T² is df · G / H, with independent G of Gamma(1/2, 1) and H of Gamma(df / 2, 1). So |T| > |t|
    # if t² · H - df · G is below 0.
    weights, shapes = np.array([t * t, -df], float), np.array([df / 2, 0.5])
    return exp(log_probability_below_zero(weights, shapes))


def _log_beside_exponential(ratios: Floats, shapes: Floats, side: int) -> float:
    """Return ln P(Q <= 0) if only one exponential variable E has a weight of the sign `side`.

    `ratios` are the weights divided by the weight of E. Let G >= 0 be the sum of all other
    variables, each multiplied by the absolute value of its ratio. Then P(E >= G) is the mean of
    exp(-G). This mean is a product, so no integral is needed.
    """
    others = ratios < 0
    exponent = -float(shapes[others] @ np.log1p(-ratios[others]))
    if side < 0:
        return exponent
    # Of two forms of ln(1 - exp(exponent)), use the one that keeps all digits.
    return log(-expm1(exponent)) if exponent > -log(2) else log1p(-exp(exponent))


def _log_lower_tail(weights: Floats, shapes: Floats) -> float:
    """Return ln P(Q <= 0) for E Q > 0 and some weights below 0."""
    theta = _saddle_point(weights, shapes)
    tail = _integral(weights / (1 + theta * weights), shapes, theta) / pi
    logarithm = log(tail) - float(shapes @ np.log1p(theta * weights)) if tail > 0 else -inf
    if not isfinite(logarithm):
        raise ArithmeticError(f"the integral of a tail came to {tail!r}")
    return logarithm


def _saddle_point(weights: Floats, shapes: Floats) -> float:
    """Return approximately the θ that minimizes the convex κ(-θ) - ln θ, by Newton's method.

    Every θ in the range gives the same integral, so an approximate θ costs only a few digits.
    """
    low, high = 0.0, -1 / float(weights.min())
    theta = high / 2
    for _ in range(100):
        tilted = weights / (1 + theta * weights)
        slope = -float(shapes @ tilted) - 1 / theta
        low, high = (theta, high) if slope < 0 else (low, theta)
        following = theta - slope / (float(shapes @ tilted**2) + 1 / theta**2)
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - theta) <= 1e-6 * theta:
            break
        theta = following
    return theta


def _integral(tilted: Floats, shapes: Floats, theta: float) -> float:
    """Return -Re ∫ exp(κ(s) - κ(-θ)) / (i·s) ds along the upper half of the path.

    The path and κ are those at the top of this module. exp(κ(s)) is a product: for each weight a
    with the shape k, it has the factor (1 - a·s) to the power of -k.

    `tilted` has r = a / (1 + aθ) for each weight. At s = -θ + x + iy, the term 1 - a·s divided by
    its value at -θ is 1 - r·(x + iy), so its modulus and phase need only real logarithms and arc
    tangents.
    """
    squares = float(shapes @ tilted**2)
    bend = float(shapes @ tilted**3) / (3 * squares)
    # The width must be below the distance to the nearest branch point; this matters for shapes
    # below 1.
    width = min((squares + 1 / theta**2) ** -0.5, 1 / float(abs(tilted).max()))
    for curve, step in ((bend, _STEP), *((0.0, _STEP / 4**finer) for finer in range(_FINER))):
        integral = _along(tilted, shapes, theta, curve, width=width, step=step)
        if integral is not None:
            return integral
    raise ArithmeticError("the integral of a tail oscillates too fast")


# Several blocks are computed at once. If the integrand grows in one, later blocks may overflow, but
# they are not used.
@np.errstate(over="ignore", invalid="ignore")
def _along(
    tilted: Floats, shapes: Floats, theta: float, bend: float, *, width: float, step: float
) -> float | None:
    """Return the integral from -θ upwards, on a path with curvature `bend` to the right.

    `step` is the width of a step in u, where y = `width` · sinh u. Returns None if the integrand
    grows or turns too fast on the path.
    """
    start = width / theta
    total, turned, first = 0.0, 0.0, step * np.arange(_BLOCK)
    # A call of NumPy costs as much as several hundred numbers, so with few terms several blocks are
    # computed at once.
    at_once = max(1, min(8, _BLOCK // (2 * len(tilted))))
    while first[0] < _FARTHEST:
        u = np.array([*accumulate(repeat(_BLOCK * step, at_once - 1), np.add, initial=first)])
        y = width * np.sinh(u)
        root = np.hypot(1, 2 * bend * y / _SLOPE)
        x = 2 * bend * y**2 / (1 + root)
        along, across = x[..., None] * tilted, y[..., None] * tilted
        logarithm = -0.5 * (np.log1p(along**2 + across**2 - 2 * along) @ shapes)
        phase = np.arctan2(across, 1 - along) @ shapes
        size = np.exp(logarithm) * width * np.cosh(u)
        values = size * np.exp(1j * phase) * (1 - 2j * bend * y / root) / (theta - x - 1j * y)
        turns = np.diff(phase.ravel(), prepend=turned).reshape(u.shape)
        sizes = abs(values)
        grows = (logarithm > 1) | ((sizes > _UNRESOLVED * start) & (abs(turns) > pi))
        # Do not end at a fixed u. If one term outweighs the rest, the integrand falls only with the
        # square of the distance from the real axis: an end at u = 4 caused an error of 2e-3.
        is_end = sizes[:, -1] < _NEGLIGIBLE * start
        if u[0, 0] == 0:
            values[0, 0] /= 2  # The lower half of the path, its mirror image, shares this point.
        blocks = (grows.any(axis=1), values.real.sum(axis=1), is_end)
        for grows_there, part, ends in zip(*(each.tolist() for each in blocks), strict=True):
            if grows_there:
                return None
            total += part
            if ends:
                return float(step * total)
        first, turned = u[-1] + _BLOCK * step, phase[-1, -1]
    return None
