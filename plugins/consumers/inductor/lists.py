"""The C++ lists of kernels that Inductor is offered, and what ck4inductor makes of them.

A list of the library is a tuple with open parameters, such as the padding; its source files say with which
values it is used. Only these combinations are instances that the library has.

AMD's package searches the lists' lines for the name of a class, splits what follows at commas and takes the
words for those of the sources that torch generates. It follows neither comments nor conditions nor short
names: a line is judged as it is read there.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_plugins.consumers._old_ck.kernels import OldKernel, index_of
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.inductor.operations import (
    CLASSES,
    ENUMERATIONS,
    NEVER_CHOSEN,
    TYPES,
    CKGroupedConvFwdOp,
    operation_of,
)
from ckprof_plugins.consumers.records import FileAudit, Reason
from ckprof_plugins.extract.classes import class_records
from ckprof_plugins.extract.cpp_text import Expr, ExprReader, TokenStream, preprocess
from ckprof_plugins.extract.headers import print_argument
from ckprof_plugins.extract.tuples import InstanceHeader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckprof_plugins.consumers.inductor.operations import InductorOperation
    from ckprof_plugins.consumers.records import AuditRequest, KernelList


#: what a configured library defines, and device code of one architecture or another
_MACROS: Final[Mapping[str, str]] = {
    **{f"CK_ENABLE_{name}": "1" for name in ("FP8", "BF8", "FP16", "BF16", "FP32", "INT8", "TF32")},
    "CK_USE_GFX94": "1",
    "__gfx94__": "1",
}


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
        header = InstanceHeader(preprocess(text, _MACROS, str(path))[0], str(path))
        uses = _uses(path, header)
        for alias in header.tuples:
            for bound in uses.get(alias, []):
                for operation in _instances(header, alias, bound, kind, left_out):
                    found.setdefault(operation.key_name(), operation)
    if not found:
        raise InputError(f"has no list of {kind}", folder)
    return tuple(found.values()), left_out


def _uses(path: Path, header: InstanceHeader) -> dict[str, list[Mapping[str, Expr]]]:
    """Return, for each tuple of a header, the values with which the sources beside it use it."""
    uses: dict[str, list[Mapping[str, Expr]]] = {}
    for source in sorted(path.parent.glob("*.cpp")):
        text = source.read_text(encoding="utf-8", errors="replace")
        if path.name not in text or not any(name in text for name in header.tuples):
            continue
        stream = TokenStream(preprocess(text, _MACROS, str(source))[0], str(source))
        for position, piece in enumerate(stream.texts):
            if piece in header.tuples and stream.texts[position + 1 : position + 2] == ["<"]:
                given = ExprReader(stream, position + 1).arguments()
                names = [item.name for item in header.tuples[piece]]
                bound = {
                    name: header.substitute(value, {}) for name, value in zip(names, given, strict=False)
                }
                if bound not in uses.setdefault(piece, []):
                    uses[piece].append(bound)
    return uses


def _instances(
    header: InstanceHeader,
    alias: str,
    bound: Mapping[str, Expr],
    kind: str,
    left_out: Counter[str],
) -> Iterator[InductorOperation]:
    # parameters without a value keep their names, which nobody declares: they are types of further tensors
    empty = {item.name: Expr("Tuple", ()) for item in header.tuples[alias] if item.name.startswith("Ds")}
    for element in header.elements(alias):
        if element.name != kind or element.args is None:
            continue
        written = [header.substitute(item, {**empty, **bound}) for item in element.args]
        try:
            yield operation_of(kind, [print_argument(item) for item in written])
        except InputError as exc:
            left_out[exc.message] += 1


#: the class that torch's template instantiates
KIND: Final = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"
#: dimensions that its sources are written for
_NDIM: Final = 2


#: an operation, its kernel in a list, and the name of the type of its operands
ListedConvolution = tuple[CKGroupedConvFwdOp, OldKernel, str]


@lru_cache(maxsize=4)
def convolutions_of(
    lists: tuple[KernelList, ...],
) -> tuple[tuple[ListedConvolution, ...], Counter[str]]:
    """Return the kernels of lists that torch's template can compile, in their order.

    :returns: the kernels; and why others are left out -> how many.
    """
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
                kernels.append((operation, kernel, dtype))
    return tuple(kernels), left_out


_ELEMENT: Final = re.compile(
    rf"\b(?P<kind>{'|'.join(sorted(CLASSES, key=len, reverse=True))})\s*(?P<rest><.*)"
)
#: words that the generated sources declare
_DECLARED: Final = frozenset(
    ("Row", "Col", "F8", "BF8", "F16", "F32", "BF16", "TF32", "PassThrough", "OutElementOp")
)
#: open parameters of the lists, for which ck4inductor puts values
_OPEN: Final = frozenset(
    ("NDimSpatial", "ALayout", "BLayout", "ELayout", "DsLayout", "DsDataType", "DsDataTypes", "DsLayouts")
)
#: field -> the open parameter that ck4inductor knows there
_OPEN_FIELDS: Final = {
    "conv_forward_specialization": "ConvSpec",
    "gemm_specialization": "GemmSpec",
    "block_gemm_pipeline_scheduler": "BlkGemmPipeSched",
}
#: what ck4inductor replaces in each convolution, whatever it is
_REPLACED: Final = ("n_dim_spatial", "a_layout", "b_layout", "e_layout", "gemm_specialization")
#: what tells apart neither kernels of one line nor those that the library makes of it
_IGNORED: Final = (*_REPLACED, "conv_forward_specialization", "block_gemm_pipeline_scheduler", "ds_layout")


def lines_of(path: Path) -> list[str]:
    """Return the lines of a list.

    :raises InputError: it cannot be read.
    """
    return read_file(path).decode(errors="replace").split("\n")


def _judged(
    line: str, found: re.Match[str], known: frozenset[tuple[object, ...]]
) -> tuple[Reason | None, str]:
    """Return what is wrong with a line; without a reason, what was judged."""
    kind, device = found["kind"], CLASSES[found["kind"]]
    if "//" in line[: found.start()] or line.lstrip().startswith("*"):
        message = "is a comment, which ck4inductor reads as a kernel; the library does not have it"
        return Reason.UNKNOWN_KERNEL, message
    stream = TokenStream(found["rest"], "")
    try:
        written = ExprReader(stream).arguments()
        stream.closing(0)
    except (InputError, IndexError):
        message = "the arguments do not end on the line, and ck4inductor reads no further"
        return Reason.MALFORMED_ROW, message
    most = len(fields(device.operation)) - len(device.inserted)
    if len(written) > most:
        message = (
            f"has {len(written)} arguments and ck4inductor's operation {most}: the kernel is passed over, "
            "by older versions every other one as well"
        )
        return Reason.MALFORMED_VALUE, message
    try:
        operation = operation_of(kind, [print_argument(_plain(item)) for item in written])
    except InputError as exc:
        return Reason.MALFORMED_VALUE, exc.message
    other = _never_chosen(operation.a_element_dtype) or _never_chosen(operation.b_element_dtype)
    if other:
        return Reason.NEVER_HIT, f"torch chooses no kernel for operands of {other}"
    strange = _undeclared(operation, line)
    if strange:
        return Reason.MALFORMED_VALUE, f"{strange}, which torch's sources do not declare"
    if kind != KIND:
        return None, "parsed; ckprof has no list of the kernels of its class"
    if known and _key(operation) not in known:
        return Reason.UNKNOWN_KERNEL, "no list has a kernel with these arguments"
    return None, "parsed, and a kernel of the lists"


def _never_chosen(word: str) -> str:
    """Return the name of a type of operands that torch chooses no kernel for; empty for one that it does."""
    dtype = TYPES.get(word) or DataType.of_string(word)
    if dtype is None:
        return word
    return str(dtype.value) if dtype in NEVER_CHOSEN else ""


def _plain(argument: Expr) -> Expr:
    """Return an argument with the name that ``S``, of all lists, stands for."""
    return Expr("Sequence", argument.args) if argument.name == "S" and argument.args else argument


def _undeclared(operation: InductorOperation, line: str) -> str:
    """Return the first field whose word nobody declares; empty if there is none."""
    convolution = isinstance(operation, CKGroupedConvFwdOp)
    for name, value in operation.dict_items():
        if (
            not isinstance(value, str)
            or value in _OPEN
            or name == "direct_load"
            or (convolution and name in _REPLACED)
        ):
            continue
        if name in ENUMERATIONS:
            # the words of the line: its short names are declared in the header alone
            word = value.partition("::")[2]
            if word != _OPEN_FIELDS.get(name) and f"{ENUMERATIONS[name]}::{word}" not in line:
                return f"{name} is {word}"
        elif value not in _DECLARED:
            return f"{name} is {value}"
    return ""


def _key(operation: InductorOperation) -> tuple[object, ...]:
    compute = operation.a_compute_dtype or operation.a_element_dtype
    values = operation.dict_items()
    left = (*_IGNORED, "ds_element_dtype", "cde_elementwise_op", "a_compute_dtype", "b_compute_dtype")
    return (compute, *(value for name, value in values if name not in left))


class Inductor:
    """The C++ lists in the library folder of AMD's package ``ck4inductor``."""

    id = "inductor"
    label = "PyTorch Inductor: C++ lists of kernels in a library folder"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say whether a file is a header with kernels of a class that Inductor compiles."""
        return path.suffix == ".hpp" and any(f"{name}<".encode() in head for name in CLASSES)

    def audit(self, request: AuditRequest) -> FileAudit:
        """Judge each line that ck4inductor takes for a kernel.

        :raises InputError: the file cannot be read.
        """
        # kernels of lists of forward convolutions, by what a line says of them; empty where there are none
        known = frozenset(_key(operation) for operation, _, _ in convolutions_of(request.lists)[0])
        audit = FileAudit(path=request.path, label="list of kernels for Inductor")
        for number, line in enumerate(lines_of(request.path), 1):
            found = _ELEMENT.search(line)
            if found is None:
                continue
            audit.entries += 1
            audit.find(*_judged(line, found, known), number, " ".join(line.split())[:160])
        return audit

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the list without wrong lines; of a tuple whose last one leaves, the comma before it as well.

        :raises InputError: the file cannot be read any more.
        """
        wrong = audit.removable
        kept: list[str] = []
        for number, line in enumerate(lines_of(audit.path), 1):
            if number not in wrong:
                kept.append(line)
            elif not line.rstrip().endswith(",") and "//" not in line:
                ends = [at for at, one in enumerate(kept) if one.rstrip().endswith(">,")]
                last = max(
                    (at for at in ends if any(f"{name}<" in kept[at] for name in CLASSES)), default=None
                )
                if last is not None:
                    kept[last] = kept[last].rstrip().removesuffix(",")
        return "\n".join(kept).encode()
