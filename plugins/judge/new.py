"""Templates of candidates, which are right as they are: the simplest loops, to be made faster."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.files import write_output
from ckprof.kernels.jinja import render
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.judge.operands import Task

#: C++ of an element as it lies in memory
_CPP_TYPES: Final = {
    DataType.FP32: "float",
    DataType.FP16: "_Float16",
    DataType.BF16: "bf16",
    DataType.INT8: "std::int8_t",
    DataType.INT32: "std::int32_t",
}
#: spatial axes of images and of filters, as far as there are so many
_SPATIAL: Final = "DHW"
_TAPS: Final = "ZYX"
#: position of the first line length among a product's values
_FIRST_LINE: Final = 3
_SUFFIXES: Final = (".py", ".cpp", ".hip")
#: lengths of an axis in C++, by its letter; K and C are those of a group
_CONVOLUTION_AXES: Final = {"G": "p.groups", "N": "p.batch", "K": "p.out_channels", "C": "p.in_channels"}


def write_template(task: Task, problem: Any, path: Path) -> None:
    """Write the template of a candidate for an operation, with its layout and types.

    :param problem: one of those that it is for.
    :param path: a file that does not exist yet; its suffix says in which language.
    :raises UsageError: there is no template for that.
    :raises InputError: the file exists, or cannot be written.
    """
    if path.suffix not in _SUFFIXES:
        raise UsageError(f"--new {path}: expected a name that ends in {', '.join(_SUFFIXES)}")
    if path.exists():
        raise InputError("the file exists: choose another name", path)
    text = _text(task, problem, "py" if path.suffix == ".py" else "cpp")
    with system_errors(InputError, "cannot be written", path):
        write_output(path, text)


def _text(task: Task, problem: Any, language: str) -> str:
    names = task.operation.tensors_of(problem)
    is_convolution = hasattr(problem, "filter")
    kind = "convolution" if is_convolution else "product"
    if set(names) not in ({"input", "weight", "output"}, {"a", "b", "e"}):
        raise UsageError(
            f"--new: there is no template for {task.operation.id} with the tensors {', '.join(names)}; "
            "docs/judge.md says what a candidate is"
        )
    dtypes = dict(zip(names, task.types.of_so_many(len(names)), strict=True))
    if language == "cpp" and not {*dtypes.values(), task.types.acc} <= {*_CPP_TYPES}:
        raise UsageError(
            f"--new: the template in C++ has no {task.types.operands[0].value}; one in Python has"
        )
    orders = {name: task.layout.order(name) for name in names}
    return render(
        __package__,
        f"{kind}.{language}.j2",
        operation=task.operation.id,
        dtype=task.types.operands[0].value,
        layout=task.layout.name,
        names=names,
        result=names[-1],
        orders=orders,
        types={name: _CPP_TYPES.get(dtype, "") for name, dtype in dtypes.items()},
        sum_type=_CPP_TYPES.get(task.types.acc, "float"),
        is_integer=task.types.acc.properties.is_integer,
        has_bf16=DataType.BF16 in dtypes.values(),
        ndim=problem.ndim,
        axes=range(problem.ndim),
        spatial=_SPATIAL[3 - problem.ndim :],
        taps=_TAPS[3 - problem.ndim :],
        lines=tuple(zip(names, count(_FIRST_LINE))),
        places={
            name: _place(order, name, problem.ndim)
            if is_convolution
            else f"{order[0].lower()} * line_{name} + {order[1].lower()}"
            for name, order in orders.items()
        },
    )


def _place(order: str, tensor: str, ndim: int) -> str:
    """Return the C++ of an element's position: indices by the letters of axes in lower case."""
    spatial = {"input": _SPATIAL, "output": _SPATIAL, "weight": _TAPS}[tensor][3 - ndim :]
    sizes = {"input": "p.input", "weight": "p.filter", "output": "output"}[tensor]
    text = ""
    for letter in order:
        at = spatial.find(letter)
        length = f"{sizes}[{at}]" if at >= 0 else _CONVOLUTION_AXES.get(letter, "")
        index = f"{'tap' if tensor == 'weight' else {'input': 'in', 'output': 'out'}.get(tensor, '')}[{at}]"
        index = index if at >= 0 else letter.lower()
        before = f"({text})" if " " in text else text
        text = f"{before} * {length} + {index}" if text else index
    return text
