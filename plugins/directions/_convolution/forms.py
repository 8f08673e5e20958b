"""How programs call a direction of convolution: ckProfiler, and CK Tile's dispatcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionalForm:
    """How a direction's operation is called on ckProfiler's command line."""

    #: operation names, e.g. ``grouped_conv_fwd`` and ``grouped_conv_fwd_tile``
    operations: tuple[str, ...]
    #: names of the positional arguments between the operation and the convolution parameters, in order;
    #: ``dtype``, ``layout`` and ``ndim`` are among them
    leading: tuple[str, ...]
    #: names of those after the convolution parameters; ``split_k`` is understood
    trailing: tuple[str, ...]
    #: data type number -> spelling, for the types that ckprof knows
    dtypes: Mapping[int, str]
    #: layout number -> (1D, 2D, 3D) layout names, ``None`` where there is none; unknown numbers are absent
    layouts: Mapping[int, tuple[str | None, str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceExtension:
    """C functions that the libraries of one direction have beside those that all have."""

    #: declares them for programs; includes nothing of ckprof
    header: Path
    #: C++ that defines them; it stands after the texts of ``ckprof_conv_api.h`` and of the header, and
    #: includes neither
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherForm:
    """How a direction is called through the C interface of CK Tile's dispatcher."""

    #: value of ``ConvProblemC.direction``
    number: int
    #: which of ``input``, ``weight``, ``output`` the arguments ``a``, ``b``, ``c`` of a run are
    buffers: tuple[str, str, str]
    #: further functions that programs expect of the direction's libraries; ``None`` for none
    extension: InterfaceExtension | None = None
