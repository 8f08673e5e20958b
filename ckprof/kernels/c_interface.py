"""The C++ through which kernels and libraries of kernels are reached: the C interface."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from ckprof.kernels.jinja import render, render_cached
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.source_tree import KernelFiles
    from ckprof.plugin.protocols import LibraryInterface, Operation, SourceAddition


def boolean(value: bool) -> str:
    """Return ``true`` or ``false``."""
    return "true" if value else "false"


@lru_cache(maxsize=4096)
def string_literal(text: str) -> str:
    """Return ``text`` as a C++ string literal.

    Bytes that are not printable ASCII become octal escapes, which, unlike hexadecimal ones, end after three
    digits whatever follows.
    """
    if text.isascii() and text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    parts = []
    for byte in text.encode():
        character = chr(byte)
        if character in '\\"':
            parts.append(f"\\{character}")
        elif 0x20 <= byte < 0x7F:
            parts.append(character)
        else:
            parts.append(f"\\{byte:03o}")
    return f'"{"".join(parts)}"'


#: The registry for programs that embed kernels.
EMBED_DIR: Final = Path(__file__).parent / "embed"
#: what a library's fields call operands
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_LIBRARY_INFO_HEADER: Final = EMBED_DIR / "ckprof_library_info.h"


def table_source(
    library: str,
    operation: Operation,
    arch: str,
    kernels: Sequence[KernelFiles],
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    ranking: SourceAddition | None = None,
) -> str:
    """Return the source of the table that a library exports, and of what it says about its kernels.

    :param kernels: those that the library is linked from, in the order of the table.
    :param fields: symbol -> fields of the instance, if somebody has computed them already.
    :param ranking: ranks the kernels; it must be rendered for the same kernels in the same order.
    """
    interface = operation.interface
    rows: list[dict[str, Any]] = []
    for kernel in kernels:
        instance, types = kernel.instance, kernel.instance.types
        # programs allocate the tensors
        named = [*zip(_ORDINALS, types.operands, strict=False), ("result", types.result)]
        said = {
            "name": kernel.name,
            **((fields or {}).get(kernel.symbol) or instance.fields()),
            **instance.derived_fields(),
            **{f"{name}_bytes": dtype.properties.size_bytes for name, dtype in named},
            **({"types": types.text} if types.text != operation.types(instance.dtype).text else {}),
            "split_sum": instance.split_sum.value,
            **({} if instance.preparation[1] else {"prepares_untimed": True}),
        }
        rows.append({"ndim": instance.ndim, "fields": string_literal(msgspec.json.encode(said).decode())})
    values: dict[str, Any] = {
        "info_header": _text(_LIBRARY_INFO_HEADER),
        "kernels": rows,
        "operation": string_literal(operation.id),
        "arch": string_literal(arch),
        "interface_version": string_literal(interface.version),
        "ranking": ranking,
    }
    parts = [
        library_source(library, [kernel.symbol for kernel in kernels]),
        render(__package__, "library_info.cpp.j2", **values),
    ]
    if interface.template is not None:
        package, template = interface.template
        parts.append(render(package, template, **values, **interface.values))
    if interface.source is not None:
        parts += ["\n", "\n".join(_text(path) for path in (*interface.headers, interface.source))]
    return "".join(parts)


@lru_cache(maxsize=16)
def _text(path: Path) -> str:
    """Return a file's text: a library's source stands for itself."""
    return path.read_text()


#: Where the C interface lies; every source of a tree is compiled with this include directory.
ABI_INCLUDE_DIR = Path(__file__).parent / "abi"


def kernel_symbol(key: str) -> str:
    """Return the C symbol of the table row of the instance with that content key."""
    return f"ckprof_kernel_{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _KernelEntry:
    """The values of a kernel's translation unit."""

    literal_fields: ClassVar[tuple[str, ...]] = (
        "key",
        "key_literal",
        "name",
        "name_literal",
        "header",
        "symbol",
        "launcher",
    )

    version: str
    key: str
    key_literal: str
    name: str
    name_literal: str
    header: str
    symbol: str
    launcher: str
    host_args: str
    entry_guard: str
    entry: str
    row: str


def kernel_entry(
    *, key: str, name: str, header: str, launcher: str, host_args: str, interface: LibraryInterface
) -> str:
    """Return the source of one kernel's translation unit.

    :param header: file name of the kernel's header, which lies in the same folder.
    :param launcher: C++ name of the launcher type.
    :param host_args: C++ type that its ``launch`` takes.
    :param interface: how the row is made.
    """
    values = _KernelEntry(
        version=__version__,
        key=key,
        key_literal=string_literal(key),
        name=name,
        name_literal=string_literal(name),
        header=header,
        symbol=kernel_symbol(key),
        launcher=launcher,
        host_args=host_args,
        entry_guard=f"{interface.library.upper()}_ENTRY_HPP",
        entry=interface.entry,
        row=interface.row,
    )
    return render_cached(__package__, "kernel_entry.cpp.j2", values, _KernelEntry.literal_fields)


def library_source(library: str, symbols: Sequence[str]) -> str:
    """Return the source of the function that a library exports.

    :param symbols: table rows of the kernels that the library is linked from, in the order of the table.
    """
    return render(__package__, "library.cpp.j2", version=__version__, library=library, symbols=symbols)
