"""A direction, instances and a kernel library made for these tests."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import ckprof.kernels
from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.direction import Direction
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem

HERE = Path(__file__).parent
ABI_FOLDER = Path(ckprof.kernels.__file__).parent / "abi"
ARCH = "fake0"


def find_compiler():
    """Return a C++ compiler, or ``None``."""
    return shutil.which("g++") or shutil.which("clang++")


def build_library(path, *flags, source="fake_library.cpp"):
    """Compile a library of kernels."""
    compiler = find_compiler()
    assert compiler is not None
    command = [compiler, "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{ABI_FOLDER}", *flags]
    subprocess.run([*command, str(HERE / source), "-o", str(path)], check=True)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeInstance(Instance):
    """An instance whose key is the name of a kernel of the fake library."""

    pipeline: ClassVar[str] = "fake"
    kernel: str

    @property
    def key(self):
        return self.kernel


def make_instance(kernel, layout="nhwgc", dtype=DataType.FP32):
    found = find_layout(layout)
    assert found is not None
    return FakeInstance(id=0, direction="scale", ndim=found.ndim, layout=found, dtype=dtype, kernel=kernel)


def make_problem(size=8, ndim=2, batch=3):
    """Return a problem whose convolution is a multiplication with one weight."""
    ones, zeros = (1,) * ndim, (0,) * ndim
    return ConvProblem(
        groups=1,
        batch=batch,
        out_channels=1,
        in_channels=1,
        filter=ones,
        input=(size,) * ndim,
        strides=ones,
        dilations=ones,
        left_pads=zeros,
        right_pads=zeros,
    )


class ScaleDirection(Direction):
    """``output = input * weight`` for problems with a single weight."""

    id = "scale"
    label = "scaling"
    tensors = ("input", "weight", "output")

    def __init__(self):
        self.references = 0

    def reduction_length(self, problem):
        return 1

    def reference(self, problem, layout, operands, types):
        self.references += 1
        return operands["input"] * operands["weight"].reshape(-1)[0]
