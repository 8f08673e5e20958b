"""What the C++ text of a convolution kernel says differently for each direction.

A direction whose kernels the built-in families shall write has an attribute ``operation`` of this type, often
that of a built-in direction with something replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.model.strings.kind import StringKind

#: Folder of the kernel headers.
KERNELS = "ck_tile/ops/grouped_convolution/kernel"

#: tensor -> its C++ element type and layout in a kernel's header, its pointer among the host arguments
_ELEMENT_TYPES = {"input": "InDataType", "weight": "WeiDataType", "output": "OutDataType"}
_LAYOUTS = {"input": "InLayout", "weight": "WeiLayout", "output": "OutLayout"}
_POINTERS = {"input": "in_ptr", "weight": "wei_ptr", "output": "out_ptr"}


class ConvKernel(Enum):
    """CK Tile's grouped-convolution kernels: which matrices they multiply, and so what can be varied."""

    FORWARD = "fwd"
    BACKWARD_DATA = "bwd_data"
    BACKWARD_WEIGHT = "bwd_weight"


class Zeroing(Enum):
    """When a launcher must fill the result with zeros before the kernel runs."""

    #: every element is stored
    NEVER = "never"
    #: some elements may not be reached at all
    ALWAYS = "always"
    #: the splits of the reduction add to what is there
    IF_SPLIT = "if_split"


# Compared by identity: operations are keys of caches.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConvOperation:
    """The C++ names of one direction."""

    #: spelling of the direction in comments, as in a catalog's ``variant``
    variant: str
    #: which of CK Tile's kernels computes it: decides about families, rules and instance strings
    kernel: ConvKernel
    #: which of ``input``, ``weight``, ``output`` are (first operand, second operand, result)
    tensors: tuple[str, str, str]
    #: what ``GetInstanceString()`` of the kernel prints; its name is that of the kernel class
    string_kind: StringKind
    #: path of the kernel class below the include folder
    kernel_header: str
    host_args: str
    #: ending of the members of ``GroupedConvTraits`` that exist once per direction
    traits_suffix: str
    name_constant: str
    selected_kernel: str
    selected_launcher: str
    #: the reduction length is this member of the host arguments ...
    gemm_k_factor: str
    #: ... times all entries of this one
    gemm_k_lengths: str
    #: the result has as many elements as the product of these members of the problem ...
    result_factors: tuple[str, ...]
    #: ... times all entries of this one
    result_lengths: str
    zeroing: Zeroing
    #: values of ``k_batch`` that the direction rejects: C++ condition on it and ``param``, the problem; and a
    #: sentence with C++ expressions in braces
    split_k: tuple[tuple[str, str], ...] = ()
    #: whether the header has ``reduction_steps()``, for a rule that asks it
    counts_reduction_steps: bool = False
    #: whether the kernel replaces a ``k_batch`` of -1 by a number of its own
    deduces_split_k: bool = False

    @property
    def kernel_class(self) -> str:
        """Name of the kernel's class template."""
        return self.string_kind.name

    @property
    def a_type(self) -> str:
        """Which of a launcher's types the first operand has."""
        return _ELEMENT_TYPES[self.tensors[0]]

    @property
    def b_type(self) -> str:
        """Which of a launcher's types the second operand has."""
        return _ELEMENT_TYPES[self.tensors[1]]

    @property
    def c_type(self) -> str:
        """Which of a launcher's types the result has."""
        return _ELEMENT_TYPES[self.tensors[2]]

    @property
    def result(self) -> str:
        """Which tensor is computed."""
        return self.tensors[2]

    @property
    def result_layout(self) -> str:
        """Which of a configuration's layouts the result has."""
        return _LAYOUTS[self.result]

    @property
    def result_pointer(self) -> str:
        """The pointer to the result among the host arguments."""
        return _POINTERS[self.tensors[2]]
