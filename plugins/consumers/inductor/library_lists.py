"""The lists of kernels that Inductor is offered: of a library folder, and of forward convolutions.

A list of the library is a tuple with open parameters, such as the padding; its source files say with which
values it is used. Only these combinations are instances that the library has.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_plugins.consumers._old_ck.kernels import index_of
from ckprof_plugins.consumers.inductor.operations import CLASSES, NEVER_CHOSEN, operation_of
from ckprof_plugins.consumers.requests import kernel_lists
from ckprof_plugins.extract.classes import class_records
from ckprof_plugins.extract.cpp_text import Expr, ExprReader, TokenStream, preprocess
from ckprof_plugins.extract.headers import Vocabulary
from ckprof_plugins.extract.tuples import InstanceHeader, TupleAlias, read_header, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckprof_plugins.consumers._old_ck.kernels import OldKernel
    from ckprof_plugins.consumers.inductor.operations import CKGroupedConvFwdOp, InductorOperation
    from ckprof_plugins.consumers.records import KernelList


#: what a configured library defines, and device code of one architecture or another
_MACROS: Final[Mapping[str, str]] = {
    **{f"CK_ENABLE_{name}": "1" for name in ("FP8", "BF8", "FP16", "BF16", "FP32", "INT8", "TF32")},
    "CK_USE_GFX94": "1",
    "__gfx94__": "1",
}
_WORDS: Final = Vocabulary({})


@lru_cache(maxsize=8)
def library_lists(library: Path, kind: str) -> tuple[tuple[InductorOperation, ...], Counter[str]]:
    """Return the instances of a class.

    :param library: folder with ``include`` and ``src``.
    :param kind: name of the class.
    :returns: each once, in the order of the files; and why others are left out -> how many.
    :raises InputError: the folder has no lists of the class, or one cannot be read.
    """
    folder = library / CLASSES[kind].folder
    if not folder.is_dir():
        raise InputError("there is no such folder of lists", folder)
    found: dict[str, InductorOperation] = {}
    left_out: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.hpp")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if f"{kind}<" not in text:
            continue
        header = read_header(preprocess(text, _MACROS, str(path))[0], str(path))
        uses = _uses(path, header)
        for alias in header.tuples.values():
            for bound in uses.get(alias.name, []):
                for operation in _instances(header, alias, bound, kind, left_out):
                    found.setdefault(operation.key_name(), operation)
    if not found:
        raise InputError(f"has no list of {kind}", folder)
    return tuple(found.values()), left_out


def _uses(path: Path, header: InstanceHeader) -> dict[str, list[Mapping[str, Expr]]]:
    """Return, for each tuple of a header, the values with which the sources beside it use it."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, header.tuples))})\b") if header.tuples else None
    uses: dict[str, list[Mapping[str, Expr]]] = {}
    for source in sorted(path.parent.glob("*.cpp")) if pattern else ():
        text = source.read_text(encoding="utf-8", errors="replace")
        if pattern is None or path.name not in text or not pattern.search(text):
            continue
        stream = TokenStream(preprocess(text, _MACROS, str(source))[0], str(source))
        for position, piece in enumerate(stream.texts):
            if piece in header.tuples and stream.texts[position + 1 : position + 2] == ["<"]:
                given = ExprReader(stream, position + 1).arguments()
                names = [item.name for item in header.tuples[piece].parameters]
                bound = {
                    name: substitute(value, header, {}) for name, value in zip(names, given, strict=False)
                }
                if bound not in uses.setdefault(piece, []):
                    uses[piece].append(bound)
    return uses


def _instances(
    header: InstanceHeader,
    alias: TupleAlias,
    bound: Mapping[str, Expr],
    kind: str,
    left_out: Counter[str],
) -> Iterator[InductorOperation]:
    # parameters without a value keep their names, which nobody declares: they are types of further tensors
    empty = {item.name: Expr("Tuple", ()) for item in alias.parameters if item.name.startswith("Ds")}
    for element in header.elements(alias):
        if element.name != kind or element.args is None:
            continue
        written = [substitute(item, header, {**empty, **bound}) for item in element.args]
        try:
            yield operation_of(kind, [_WORDS.print_argument(item) for item in written])
        except InputError as exc:
            left_out[exc.message] += 1


#: the class that torch's template instantiates
KIND: Final = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"
#: dimensions that its sources are written for
_NDIM: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedConvolution:
    """A kernel of a list."""

    operation: CKGroupedConvFwdOp
    kernel: OldKernel
    #: name of the type of the operands
    dtype: str


def listed_convolutions(names: Sequence[str]) -> tuple[tuple[ListedConvolution, ...], Counter[str]]:
    """Return the kernels of lists that torch's template can compile, in their order.

    :param names: files, folders of them, or names of lists that ship with ckprof.
    :returns: the kernels; and why others are left out -> how many.
    :raises InputError: there is no such list, or it cannot be read.
    """
    return convolutions_of(kernel_lists(names))


@lru_cache(maxsize=4)
def convolutions_of(
    lists: tuple[KernelList, ...],
) -> tuple[tuple[ListedConvolution, ...], Counter[str]]:
    """Return what :func:`listed_convolutions` does of lists that were read."""
    index = index_of(lists)
    parameters = [entry.partition("|")[0].partition(":")[0] for entry in class_records()[KIND].fields]
    kernels: list[ListedConvolution] = []
    left_out: Counter[str] = Counter()
    for direction, ndim, dtype in index.families:
        if (direction, ndim) != ("fwd", _NDIM):
            continue
        for kernel in index.all_of((direction, ndim, dtype)):
            if kernel.kind != KIND:
                left_out["kernels of another class than the one that torch's template compiles"] += 1
            elif DataType.of_string(dtype) in NEVER_CHOSEN:
                left_out[f"operands of {dtype}, which torch chooses no kernel for"] += 1
            elif not kernel.complete:
                left_out["lines without all template arguments"] += 1
            else:
                arguments = [kernel.values[name] for name in parameters if name in kernel.values]
                try:
                    operation = cast("CKGroupedConvFwdOp", operation_of(KIND, arguments))
                except InputError as exc:
                    left_out[exc.message] += 1
                    continue
                kernels.append(ListedConvolution(operation=operation, kernel=kernel, dtype=dtype))
    return tuple(kernels), left_out
