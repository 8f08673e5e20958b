"""What an extractor is asked: which lists, and its options, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.extraction import ExtractorOption
from ckprof.plain_text import unknown_name
from ckprof_converters.library_lists import chosen_lists, known, known_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.extraction import ExtractRequest
    from ckprof_converters.library_lists import ListKey

INSTRUCTIONS: Final = ExtractorOption(
    name="instructions",
    choices=tuple(known_lists().engines),
    default="xdl",
    help="kind of matrix instructions that the instances use",
)
#: every name of a factory that does more than convolve
_FUSED_NAMES: Final = tuple(
    dict.fromkeys(name for one in known_lists().directions.values() for name in one.fused)
)
FUSED: Final = ExtractorOption(
    name="fused",
    choices=("none", *_FUSED_NAMES, "all"),
    default="none",
    help="lists of instances that do more than a convolution, by what the library calls it; all: these and "
    "the others",
)
SETS: Final = ("profiler", "tests", "typestring")


def wanted(request: ExtractRequest, fused: str = FUSED.choices[0]) -> list[ListKey]:
    """Return the lists that are asked for.

    :param fused: a value of :data:`FUSED`.
    :raises UsageError: an unknown direction, layout, type or set.
    """
    known("set", request.sets, SETS)
    return chosen_lists(request.directions, request.layouts, request.dtypes, fused)


def option_values(request: ExtractRequest, options: Sequence[ExtractorOption]) -> dict[str, str | int | bool]:
    """Return the value of each option.

    :raises UsageError: an unknown option, or a value that it does not have.
    """
    values = {option.name: option.default for option in options}
    for name, value in request.options.items():
        option = next((item for item in options if item.name == name), None)
        if option is None:
            raise UsageError(unknown_name("option", name, list(values)))
        if option.choices and value not in option.choices:
            raise UsageError(unknown_name(name, str(value), option.choices))
        if type(option.default) is int and (type(value) is not int or value < 1):
            raise UsageError(f"--{name}: expected a number of at least 1, got {value}")
        values[name] = value
    return values
