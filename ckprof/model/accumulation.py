"""How the parts of a split reduction are added up, which decides how exact the result can be."""

from __future__ import annotations

from enum import Enum


class SplitSum(Enum):
    """Where the partial sums of the splits meet."""

    #: each is rounded to the type of the result and added to it in memory, in any order
    RESULT_TYPE = "result_type"
    #: they are added in the accumulator's type, and their sum is rounded once
    ACCUMULATOR = "accumulator"
