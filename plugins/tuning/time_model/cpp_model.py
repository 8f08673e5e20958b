"""A model as a C++ header that makes the same choices as Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.kernels.source.jinja import render
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof_plugins.tuning.time_model.expression import Form
    from ckprof_plugins.tuning.time_model.program import Lines
    from ckprof_plugins.tuning.time_model.selector import Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """The code for one number of spatial dimensions."""

    ndim: int
    inputs: list[str]
    slots: list[Lines]
    times: list[str]
    results: list[str]


def namespace(direction: str) -> str:
    """Return the name of the namespace, inside ``ckprof``, of a direction's model."""
    return f"time_model_{direction}"


def render_cpp(
    selector: Selector, kernels: Sequence[str], forms: Mapping[int, Form], *, by_values: bool
) -> str:
    """Return the text of the header.

    It needs ``ckprof_abi.h`` and C++17. Sizes below 2^52 give the same choices as :class:`Selector`, if the
    compiler keeps to IEEE arithmetic.

    :param kernels: names of the kernels in the order in which the caller numbers them.
    :param forms: number of spatial dimensions -> form of the problems that times are predicted for. What a
        problem has beside the fields of its form is not part of the prediction.
    :param by_values: the header reads the sizes of a problem from its values; else by their names.
    :raises UsageError: a problem does not tell kernel libraries all of its sizes.
    """
    numbers = {name: index for index, name in enumerate(kernels)}
    choices: list[tuple[int, int]] = []
    first_choices = [0]
    for members in selector.members:
        choices += [(numbers[name], splits) for name, splits in members]
        first_choices.append(len(choices))
    programs = []
    for ndim, form in forms.items():
        program = selector.program_of_form(form)
        times, results = program.cpp_times()
        programs.append(
            _Program(
                ndim=ndim,
                inputs=program.cpp_inputs(by_values=by_values),
                slots=program.cpp_lines(),
                times=times,
                results=results,
            )
        )
    return render(
        __package__,
        "time_model.hpp.j2",
        version=__version__,
        namespace=namespace(selector.model.direction),
        direction=selector.model.direction,
        device=selector.model.device or "an unknown device",
        count=len(kernels),
        slots=len(selector.members),
        choices=choices,
        first_choices=", ".join(map(str, first_choices)),
        programs=programs,
    )
