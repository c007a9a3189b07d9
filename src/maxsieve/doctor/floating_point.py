"""The floating-point state of this thread, found by computing. NumPy uses it; the engine sets its own."""

from __future__ import annotations

import sys


def rounding() -> str:
    """How sums are rounded. Anything but ``to nearest`` was set by another library.

    >>> rounding()
    'to nearest'
    """
    number, less_than_half_a_step = 1.0, 2.0**-55
    if number + less_than_half_a_step > number:
        return "up"
    if number - less_than_half_a_step == number:
        return "to nearest"
    return "down" if -number + less_than_half_a_step == -number else "to zero"


def denormals() -> str:
    """How denormal numbers are handled. Anything but ``kept`` was set by another library.

    >>> denormals()
    'kept'
    """
    smallest_normal, half, denormal, scale = sys.float_info.min, 0.5, 2.0**-1074, 2.0**1000
    flushed = smallest_normal * half == 0.0
    ignored = denormal * scale == 0.0
    return "flushed to zero" if flushed else "read as zero" if ignored else "kept"
