"""The source of a library's table, and the C interface that every library has."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.codegen.cpp import string_literal
from ckprof.codegen.entry import library_source
from ckprof.codegen.jinja import render
from ckprof.model.tensor import TENSORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.codegen.source_tree import KernelFiles
    from ckprof.plugin.protocols import Direction

#: The C interface of kernel libraries, and the registry for programs that embed kernels.
EMBED_DIR: Final = Path(__file__).parent / "embed"
#: Compiled once and linked into every library.
CONV_API_SOURCES: Final = (EMBED_DIR / "ckprof_conv_api.cpp", EMBED_DIR / "ckprof_conv_bwdw.cpp")
_INFO_HEADER: Final = EMBED_DIR / "ckprof_conv_info.h"

#: Number of a direction that the dispatcher does not know.
_UNKNOWN: Final = -1


def library_name(direction: str) -> str:
    """Return the name of a direction's library, without prefix and suffix of the file."""
    return f"ckprof_conv_{direction}"


def conv_library_source(
    library: str,
    direction: Direction,
    arch: str,
    kernels: Sequence[KernelFiles],
    fields: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the source of the table that a library exports, and of what it says about its kernels.

    :param kernels: those that the library is linked from, in the order of the table.
    :param fields: symbol -> fields of the instance, if somebody has computed them already.
    """
    form = direction.dispatcher_form
    table = library_source(library, [kernel.symbol for kernel in kernels])
    return table + render(
        __package__,
        "conv_info.cpp.j2",
        info_header=_info_header(),
        kernels=[_row(k, (fields or {}).get(k.symbol) or k.instance.fields()) for k in kernels],
        direction=string_literal(direction.id),
        number=form.number if form else _UNKNOWN,
        buffers=_numbers(TENSORS.index(name) for name in (form.buffers if form else direction.tensors)),
        arch=string_literal(arch),
    )


def _numbers(values: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _row(kernel: KernelFiles, fields: Mapping[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode({"name": kernel.name, **fields}).decode()
    return {"ndim": kernel.instance.ndim, "fields": string_literal(text)}


@lru_cache(maxsize=1)
def _info_header() -> str:
    """Return the declarations as text: a library's source stands for itself."""
    return _INFO_HEADER.read_text()
