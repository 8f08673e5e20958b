"""The configuration of an implicit-GEMM kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckprof_plugins.pipelines._gemm.instance import GemmInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmInstance(GemmInstance):
    """A kernel that stores its result directly, or adds to it when the reduction is split."""

    pipeline: ClassVar[str] = "implicit_gemm"
