"""The choice of operand values, apart from what makes them: command lines need no numpy to offer it."""

from __future__ import annotations

from enum import Enum


class InitKind(Enum):
    """What the operands are filled with."""

    #: all zero: the result must be exactly zero
    ZEROS = "zeros"
    #: integers from -5 to 4
    INTEGER = "integer"
    #: input from 0 to 1, weight and gradients from -0.5 to 0.5
    DECIMAL = "decimal"
