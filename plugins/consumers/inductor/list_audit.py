"""Judges C++ lists of kernels as ck4inductor reads them: line by line, wherever the name of a class stands.

AMD's package searches the lists' lines for the name, splits what follows at commas and takes the words for
those of the sources that torch generates. It follows neither comments nor conditions nor short names.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_plugins.consumers.inductor.library_lists import KIND, convolutions_of
from ckprof_plugins.consumers.inductor.operations import (
    CLASSES,
    ENUMERATIONS,
    NEVER_CHOSEN,
    TYPES,
    CKGroupedConvFwdOp,
    operation_of,
)
from ckprof_plugins.consumers.records import AuditFinding, FileAudit, Reason
from ckprof_plugins.extract.cpp_text import Expr, ExprReader, TokenStream
from ckprof_plugins.extract.headers import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.consumers.inductor.operations import InductorOperation
    from ckprof_plugins.consumers.records import AuditRequest


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
_WORDS: Final = Vocabulary({})


@dataclass(slots=True)
class _ListAudit:
    """A list while it is judged."""

    #: kernels of lists of forward convolutions, by what a line says of them; empty where there are none
    known: frozenset[tuple[object, ...]]
    findings: list[AuditFinding] = field(default_factory=list)
    judged: Counter[str] = field(default_factory=Counter)
    entries: int = 0

    def find(self, reason: Reason, message: str, number: int, text: str) -> None:
        """Note a finding of a line."""
        self.findings.append(
            AuditFinding(reason=reason, message=message, line=number, text=" ".join(text.split())[:160])
        )


def audit(request: AuditRequest) -> FileAudit:
    """Judge a list.

    :raises InputError: the file cannot be read.
    """
    known = (_key(one.operation) for one in convolutions_of(request.lists)[0])
    judging = _ListAudit(frozenset(known))
    for number, line in enumerate(lines_of(request.path), 1):
        found = _ELEMENT.search(line)
        if found is not None:
            judging.entries += 1
            _judge(judging, number, line, found)
    return FileAudit(
        path=request.path,
        label="list of kernels for Inductor",
        entries=judging.entries,
        judged=dict(judging.judged.most_common()),
        findings=tuple(judging.findings),
    )


def lines_of(path: Path) -> list[str]:
    """Return the lines of a list.

    :raises InputError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None


def _judge(judging: _ListAudit, number: int, line: str, found: re.Match[str]) -> None:
    kind = found["kind"]
    if "//" in line[: found.start()] or line.lstrip().startswith("*"):
        judging.find(
            Reason.UNKNOWN_KERNEL,
            "is a comment, which ck4inductor reads as a kernel; the library does not have it",
            number,
            line,
        )
        return
    stream = TokenStream(found["rest"], "")
    try:
        written = ExprReader(stream).arguments()
        stream.closing(0)
    except (InputError, IndexError):
        judging.find(
            Reason.MALFORMED_ROW,
            "the arguments do not end on the line, and ck4inductor reads no further",
            number,
            line,
        )
        return
    device = CLASSES[kind]
    most = len(fields(device.operation)) - len(device.inserted)
    if len(written) > most:
        judging.find(
            Reason.MALFORMED_VALUE,
            f"has {len(written)} arguments and ck4inductor's operation {most}: the kernel is passed over, "
            "by older versions every other one as well",
            number,
            line,
        )
        return
    _judge_arguments(judging, number, line, kind, written)


def _never_chosen(word: str) -> str:
    """Return the name of a type of operands that torch chooses no kernel for; empty for one that it does."""
    dtype = TYPES.get(word) or DataType.of_string(word)
    if dtype is None:
        return word
    return str(dtype.value) if dtype in NEVER_CHOSEN else ""


def _judge_arguments(
    judging: _ListAudit, number: int, line: str, kind: str, written: tuple[Expr, ...]
) -> None:
    try:
        operation = operation_of(kind, [_WORDS.print_argument(_plain(item)) for item in written])
    except InputError as exc:
        judging.find(Reason.MALFORMED_VALUE, exc.message, number, line)
        return
    strange = _undeclared(operation, line)
    other = _never_chosen(operation.a_element_dtype) or _never_chosen(operation.b_element_dtype)
    if other:
        judging.find(Reason.NEVER_HIT, f"torch chooses no kernel for operands of {other}", number, line)
    elif strange:
        judging.find(Reason.MALFORMED_VALUE, f"{strange}, which torch's sources do not declare", number, line)
    elif kind != KIND:
        judging.judged["parsed; ckprof has no list of the kernels of its class"] += 1
    elif judging.known and _key(operation) not in judging.known:
        judging.find(Reason.UNKNOWN_KERNEL, "no list has a kernel with these arguments", number, line)
    else:
        judging.judged["parsed, and a kernel of the lists"] += 1


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
        return audit(request)

    def cleaned(self, audit: FileAudit) -> bytes:
        """Return the list without wrong lines; of a tuple whose last one leaves, the comma before it as well.

        :raises InputError: the file cannot be read any more.
        """
        wrong = {finding.line for finding in audit.findings if finding.removable}
        kept: list[str] = []
        for number, line in enumerate(lines_of(audit.path), 1):
            if number not in wrong:
                kept.append(line)
            elif not line.rstrip().endswith(",") and "//" not in line:
                last = next((at for at in range(len(kept) - 1, -1, -1) if _is_element(kept[at])), None)
                if last is not None:
                    kept[last] = kept[last].rstrip().removesuffix(",")
        return "\n".join(kept).encode()


def _is_element(line: str) -> bool:
    return line.rstrip().endswith(">,") and any(f"{name}<" in line for name in CLASSES)
