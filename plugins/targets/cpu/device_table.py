"""The host model's table of devices as C++, generated from the records of architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.files import write_if_changed
from ckprof.kernels.build.keys import digest_parts
from ckprof.model.architecture import architectures
from ckprof.paths import cache_dir
from ckprof.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.architecture import Architecture

#: the device that is modelled unless another one is asked for
DEFAULT_ARCH = "gfx950"


def device_table_source() -> Path:
    """Return a C++ source with a row for every known architecture, written below the cache folder.

    Its folder is named after the content, so that libraries of other records are not disturbed.

    :raises ToolchainError: the cache folder cannot be written.
    """
    table = architectures()
    rows = [_row(arch) for arch in table.values()]
    initial = list(table).index(DEFAULT_ARCH)
    digest = digest_parts(__version__, repr(rows), str(initial))
    path = cache_dir() / "host-model" / digest / "device_table.cpp"
    if not path.is_file():
        from ckprof.kernels.source.jinja import render  # late: a warm run needs no template

        text = render(__package__, "device_table.cpp.j2", version=__version__, records=rows, initial=initial)
        try:
            write_if_changed(path, text)
        except OSError as exc:
            raise ToolchainError(f"{path}: cannot be written ({exc.strerror})") from exc
    return path


def _row(arch: Architecture) -> str:
    """Return the members of ``device_record`` as C++ text."""
    from ckprof.kernels.source.c_interface import string_literal

    capabilities = "".join(f"{capability} " for capability in sorted(arch.capabilities))
    members = (
        string_literal(arch.name),
        str(arch.compute_units),
        str(arch.lanes_per_wave),
        str(arch.lds_bytes),
        str(arch.simds_per_cu * arch.waves_per_simd),
        string_literal(capabilities),
    )
    return ", ".join(members)
