"""What the headers of all kernel families show, as plain strings and numbers.

All C++ spellings are computed in Python; templates only lay them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.codegen.cpp import string_literal

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.kernel_family.operation import Operation

_STANDARD = ("<cstdint>", "<functional>", "<numeric>", "<stdexcept>", "<string>")

_CK_TILE = (
    "ck_tile/core.hpp",
    "ck_tile/host/kernel_launch.hpp",
    "ck_tile/ops/gemm.hpp",
    "ck_tile/ops/grouped_convolution.hpp",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherRefusal:
    """Something that a launcher refuses before it asks the kernel."""

    #: C++ condition on ``param``, the problem, and ``k_batch``
    condition: str
    #: C++ string literal
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHeader:
    """The values of the parts that all headers have."""

    version: str
    name: str
    key: str
    #: catalog variant, for the comment on top
    variant: str
    operation: Operation
    #: include directives in groups, with their brackets or quotes
    includes: tuple[tuple[str, ...], ...]
    refusals: tuple[LauncherRefusal, ...]
    #: whether the launcher says how many splits the kernel chooses by itself
    deduces_split_k: bool


def includes(*further: str) -> tuple[tuple[str, ...], ...]:
    """Return the include directives of a header: standard library, CK Tile, further files."""
    return _STANDARD, tuple(f'"{name}"' for name in (*_CK_TILE, *further))


def split_k_refusals(operation: Operation) -> tuple[LauncherRefusal, ...]:
    """Return what the direction refuses of ``k_batch``."""
    if operation.split_k is None:
        return ()
    return (refusal(operation.split_k.refused_if, operation.split_k.reason),)


def refusal(condition: str, reason: str) -> LauncherRefusal:
    """Return the refusal of everything for which the C++ ``condition`` holds."""
    return LauncherRefusal(condition=condition, reason=string_literal(reason))
