"""A problem as the matrix products that it is, for predicting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``batch`` products of an m x k and a k x n matrix; every value is a number, or a symbol of one."""

    m: Any
    n: Any
    k: Any
    batch: Any
    #: bytes of all tensors, each once
    tensor_bytes: Any
    #: bytes of one element of the result
    result_bytes: int
