"""The C interface of libraries of convolutions: CK Tile's dispatcher's, and what ckprof adds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import LibraryInterface
from ckprof_plugins.directions._convolution.layout import TENSORS
from ckprof_plugins.elementwise.functor import names_header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof_plugins.directions._convolution.forms import DispatcherForm

_FOLDER: Final = Path(__file__).parent
#: headers of the C interface and what is linked into every library
EMBED_DIR: Final = _FOLDER / "embed"
#: version of the dispatcher's C interface that the libraries have
DISPATCHER_VERSION: Final = "2.0.0"
#: number of a direction that the dispatcher does not know
_UNKNOWN: Final = -1


@lru_cache
def conv_interface(id_: str, tensors: tuple[str, ...], form: DispatcherForm | None) -> LibraryInterface:
    """Return the C++ of a direction.

    :param id_: of the direction.
    :param tensors: its operands and its result.
    :param form: how the dispatcher calls it; ``None`` if it does not.
    """
    extension = form.extension if form is not None else None
    buffers = form.buffers if form is not None else tensors
    return LibraryInterface(
        library=f"ckprof_conv_{id_}",
        row="ckprof::entry::conv_row",
        entry=_entry(),
        headers=(EMBED_DIR / "ckprof_conv_api.h", *([extension.header] if extension else [])),
        source=extension.source if extension else None,
        linked=(EMBED_DIR / "ckprof_conv_api.cpp",),
        version=DISPATCHER_VERSION,
        template=(__package__, "conv_info.cpp.j2"),
        values={
            "header": (EMBED_DIR / "ckprof_conv_info.h").read_text(),
            "number": str(form.number if form is not None else _UNKNOWN),
            "buffers": _numbers(TENSORS.index(name) for name in buffers),
        },
        ranks=True,
        by_values=False,
    )


def _entry() -> str:
    """Return the C++ that makes a row of a kernel library's table of a launcher."""
    row = (EMBED_DIR / "ckprof_conv_entry.hpp").read_text()
    return "\n\n".join(('#include "ckprof_entry.hpp"', names_header(), row.rstrip()))


def _numbers(values: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"
