"""The source of a library's table, and the C interface that every library has."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.codegen.cpp import string_literal
from ckprof.codegen.entry import library_source
from ckprof.codegen.jinja import render
from ckprof.model.layout import TENSORS
from ckprof.plugin.operations import as_direction
from ckprof.plugin.protocols import KernelInterface

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.codegen.source_tree import KernelFiles
    from ckprof.codegen.time_model import TimeModelHeader
    from ckprof.plugin.protocols import Direction, DispatcherForm, LibraryInterface, Operation

#: The C interface of kernel libraries, and the registry for programs that embed kernels.
EMBED_DIR: Final = Path(__file__).parent / "embed"
#: Compiled once and linked into every library.
CONV_API_SOURCES: Final = (EMBED_DIR / "ckprof_conv_api.cpp",)
_LIBRARY_INFO_HEADER: Final = EMBED_DIR / "ckprof_library_info.h"
_INFO_HEADER: Final = EMBED_DIR / "ckprof_conv_info.h"
_API_HEADER: Final = EMBED_DIR / "ckprof_conv_api.h"

#: Number of a direction that the dispatcher does not know.
_UNKNOWN: Final = -1


def library_name(operation: Operation) -> str:
    """Return the name of an operation's library, without prefix and suffix of the file."""
    own = interface_of(operation)
    return own.library if own is not None else f"ckprof_conv_{operation.id}"


def interface_of(operation: Operation) -> LibraryInterface | None:
    """Return an operation's own C++; ``None`` for directions of convolution, whose is here."""
    return operation.interface if isinstance(operation, KernelInterface) else None


def api_sources(operation: Operation) -> tuple[Path, ...]:
    """Return what is compiled once and linked into a library beside its kernels and its table."""
    return () if interface_of(operation) is not None else CONV_API_SOURCES


def table_source(
    library: str,
    operation: Operation,
    arch: str,
    kernels: Sequence[KernelFiles],
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    time_model: TimeModelHeader | None = None,
) -> str:
    """Return the source of the table that a library exports, and of what it says about its kernels.

    :param kernels: those that the library is linked from, in the order of the table.
    :param fields: symbol -> fields of the instance, if somebody has computed them already.
    :param time_model: ranks the kernels; it must be rendered for the same kernels in the same order.
    """
    own = interface_of(operation)
    if own is None:
        return _conv_library_source(library, as_direction(operation), arch, kernels, fields, time_model)
    rows = [
        _row(
            kernel,
            {
                **((fields or {}).get(kernel.symbol) or kernel.instance.fields()),
                **kernel.instance.derived_fields(),
                **_sizes(kernel),
            },
        )
        for kernel in kernels
    ]
    info = render(
        __package__,
        "library_info.cpp.j2",
        info_header=_text(_LIBRARY_INFO_HEADER),
        kernels=rows,
        operation=string_literal(operation.id),
        arch=string_literal(arch),
        interface="\n".join(_text(path) for path in (own.header, own.source)),
        time_model=time_model,
    )
    return library_source(library, [kernel.symbol for kernel in kernels]) + info


def _conv_library_source(
    library: str,
    direction: Direction,
    arch: str,
    kernels: Sequence[KernelFiles],
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    time_model: TimeModelHeader | None = None,
) -> str:
    form = direction.dispatcher_form
    table = library_source(library, [kernel.symbol for kernel in kernels])
    return table + render(
        __package__,
        "conv_info.cpp.j2",
        info_header=_text(_INFO_HEADER),
        kernels=[_row(k, (fields or {}).get(k.symbol) or k.instance.fields()) for k in kernels],
        direction=string_literal(direction.id),
        number=form.number if form else _UNKNOWN,
        buffers=_numbers(TENSORS.index(name) for name in (form.buffers if form else direction.tensors)),
        arch=string_literal(arch),
        time_model=time_model,
        extension=_extension(form),
    )


def _numbers(values: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _row(kernel: KernelFiles, fields: Mapping[str, Any]) -> dict[str, Any]:
    known = {"name": kernel.name, **fields, "split_sum": kernel.instance.split_sum.value}
    text = msgspec.json.encode(known).decode()
    return {"ndim": kernel.instance.ndim, "fields": string_literal(text)}


def _sizes(kernel: KernelFiles) -> dict[str, int]:
    """Return the bytes of one element of each tensor, for programs that allocate them."""
    names = ("first_bytes", "second_bytes", "result_bytes")
    types = kernel.instance.types.of_tensors
    return {name: dtype.properties.size_bytes for name, dtype in zip(names, types, strict=True)}


def extension_headers(direction: Operation) -> tuple[Path, ...]:
    """Return the headers of the functions that only the libraries of an operation have."""
    own = interface_of(direction)
    if own is not None:
        return (own.header,)
    form = getattr(direction, "dispatcher_form", None)
    return (form.extension.header,) if form and form.extension else ()


def _extension(form: DispatcherForm | None) -> str:
    """Return the C++ of those functions; empty if there are none."""
    if form is None or form.extension is None:
        return ""
    return "\n".join(_text(path) for path in (_API_HEADER, form.extension.header, form.extension.source))


@lru_cache(maxsize=16)
def _text(path: Path) -> str:
    """Return a file's text: a library's source stands for itself."""
    return path.read_text()
