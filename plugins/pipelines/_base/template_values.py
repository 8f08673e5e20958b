"""What the headers of all kernel families show, as plain strings and numbers.

All C++ spellings are computed in Python; templates only lay them out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from ckprof.kernels.source.c_interface import string_literal

if TYPE_CHECKING:
    from ckprof_plugins.directions._convolution.kernel import ConvOperation

_STANDARD = ("<cstdint>", "<numeric>", "<stdexcept>", "<string>")

_CK_TILE = (
    "ck_tile/core.hpp",
    "ck_tile/host/kernel_launch.hpp",
    "ck_tile/ops/gemm.hpp",
    "ck_tile/ops/grouped_convolution.hpp",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherRequirement:
    """Something that a launcher rejects before it asks the kernel."""

    #: C++ string literal: stable id of the condition
    id: str
    #: C++ condition on ``param``, the problem, and ``k_batch``; it is rejected where this holds
    condition: str
    #: C++ expression of a string that says why
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderRequest:
    """What a header is written for, beside its instance."""

    #: the kernel's name, unique in its library
    name: str
    #: recorded in the header, of no influence on the code
    arch: str
    #: of the CK Tile headers
    api_level: str
    operation: ConvOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHeader:
    """The values of the parts that all headers have."""

    #: import name of the package that holds the template, and its file name
    template: ClassVar[tuple[str, str]]
    #: fields that templates print and do nothing else with; see :mod:`ckprof.kernels.source.jinja`
    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key")

    version: str
    name: str
    key: str
    #: catalog variant, for the comment on top
    variant: str
    operation: ConvOperation
    #: include directives in groups, with their brackets or quotes
    includes: tuple[tuple[str, ...], ...]
    unmet_requirements: tuple[LauncherRequirement, ...]
    #: whether the launcher says how many splits the kernel chooses by itself
    deduces_split_k: bool
    #: member of the launcher that is a template argument of the kernel's device functions
    device_type: str = "Kernel"
    #: device functions that the launcher instantiates
    device_functions: int = 1
    #: include directives of files that only some kernels need
    further_includes: tuple[str, ...] = ()
    #: C++ list of pointers to no D tensors, as many as the kernel takes
    no_d_tensors: str = "{}"
    #: type of the host arguments, a member of the launcher; empty: that of the operation
    own_host_args: str = ""
    #: whether the launcher hands on narrower problems, in which a stride is seen as channels
    folds_stride: bool = False
    #: type of the kernel that says what the launcher computes
    described_type: str = "Kernel"


@lru_cache(maxsize=64)
def includes(*further: str) -> tuple[tuple[str, ...], ...]:
    """Return the include directives of a header: standard library, CK Tile, further files."""
    return _STANDARD, tuple(f'"{name}"' for name in (*_CK_TILE, *further))


@lru_cache(maxsize=16)
def split_k_requirements(operation: ConvOperation) -> tuple[LauncherRequirement, ...]:
    """Return what the direction rejects of ``k_batch``."""
    return tuple(rejection("split-k", rule.rejected_if, rule.reason) for rule in operation.split_k)


@lru_cache(maxsize=256)
def rejection(condition_id: str, condition: str, reason: str) -> LauncherRequirement:
    """Return the rejection of everything for which the C++ ``condition`` holds.

    :param reason: a sentence; C++ expressions of integers stand in braces, e.g. ``split_k = {k_batch}``.
    """
    return LauncherRequirement(id=string_literal(condition_id), condition=condition, reason=_text(reason))


def _text(sentence: str) -> str:
    parts = re.split(r"\{(.*?)\}", sentence)
    terms = [
        f"std::to_string({part})" if index % 2 else string_literal(part)
        for index, part in enumerate(parts)
        if part
    ]
    # the first addition must have a string on one side
    return " + ".join(terms if terms[0].startswith("std::") else [f"std::string({terms[0]})", *terms[1:]])
