"""The C++ that makes a kernel, and a set of kernels, reachable through the C interface."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.codegen.cpp import string_literal
from ckprof.codegen.jinja import render
from ckprof.codegen.template_cache import render_cached
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Where the C interface lies; every source of a tree is compiled with this include directory.
ABI_INCLUDE_DIR = Path(__file__).parent / "abi"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMaker:
    """C++ that makes a kernel's row; by default that of convolutions."""

    #: stands in front
    entry: str = '#include "ckprof_entry.hpp"'
    #: name of the function template
    row: str = "ckprof::entry::table_row"


_OF_CONVOLUTIONS: Final = RowMaker()


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
    entry: str
    row: str


def kernel_entry(
    *, key: str, name: str, header: str, launcher: str, host_args: str, maker: RowMaker = _OF_CONVOLUTIONS
) -> str:
    """Return the source of one kernel's translation unit.

    :param header: file name of the kernel's header, which lies in the same folder.
    :param launcher: C++ name of the launcher type.
    :param host_args: C++ type that its ``launch`` takes.
    :param maker: how the row is made.
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
        entry=maker.entry,
        row=maker.row,
    )
    return render_cached(__package__, "kernel_entry.cpp.j2", values, _KernelEntry.literal_fields)


def library_source(library: str, symbols: Sequence[str]) -> str:
    """Return the source of the function that a library exports.

    :param symbols: table rows of the kernels that the library is linked from, in the order of the table.
    """
    return render(__package__, "library.cpp.j2", version=__version__, library=library, symbols=symbols)
