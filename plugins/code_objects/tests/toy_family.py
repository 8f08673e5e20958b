"""A family of tests: kernels written as plain HIP, which a compiler makes code objects of."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ckprof import hookimpl
from ckprof.errors import ToolchainError
from ckprof.model.instance import Instance
from ckprof.model.strings.argument_kinds import POSITIVE, words
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import StringKind
from ckprof.model.strings.rendering import render as render_string
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CatalogVariant
from ckprof_converters.conf_family import ConfFamily
from ckprof_plugins.code_objects.description import (
    Cleared,
    Condition,
    LaunchDescription,
    Pointer,
    Scalar,
    Struct,
)
from ckprof_plugins.code_objects.family import CodeObjectError, CodeObjectFamily
from ckprof_plugins.directions._convolution.layout import LAYOUTS

SOURCE = Path(__file__).with_name("toy_kernels.hip")
_COMPILERS = ("clang++-22", "clang++-21", "clang++-20", "clang++-19", "clang++")
#: numbers that the sources do not compile with, whose results are wrong, whose kernels do not end
BROKEN, WRONG, HANGING = 13, 17, 19
#: of a kernel with more LDS than devices before gfx950 have
LARGE, LARGE_LDS = 320, 98304


class ToyRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One instance in a catalog."""

    id: int
    block: int


STRINGS = StringKind(
    id="toy",
    title="toy code objects, forward",
    name="ToyForward",
    direction="fwd",
    fields=(Field(name="input_type", kind=words(("fp32", "fp16"))), Field(name="block", kind=POSITIVE)),
)
FAMILY = ConfFamily(
    id="toy-forward",
    title=STRINGS.title,
    direction="fwd",
    names=(STRINGS.name,),
    fields=STRINGS.fields,
    variant="forward_toy",
    record_type=ToyRecord,
    layout="nhwgc",
    dtypes=(DataType.FP32, DataType.FP16),
    dtype_fields=("input_type",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyInstance(Instance):
    """One configuration."""

    pipeline: ClassVar[str] = "toy"

    #: work-items of a workgroup
    block: int


@cache
def compiled(arch: str, *macros: str) -> bytes:
    """Return the code object of the kernels."""
    compiler = os.environ.get("CKPROF_CLANG") or next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise ToolchainError("no clang compiles kernels; install one")
    ran = subprocess.run(
        [
            *(compiler, "-x", "hip", "-nogpuinc", "-nogpulib", f"--offload-arch={arch}", "-O2", "-std=c++20"),
            *("--offload-device-only", "--no-gpu-bundle-output", *macros, "-o", "/dev/stdout", str(SOURCE)),
        ],
        capture_output=True,
        check=False,
    )
    if ran.returncode:
        raise CodeObjectError(ran.stderr.decode())
    return ran.stdout


class ToyFamily(CodeObjectFamily):
    """Direct convolution, one element of the result per work-item."""

    id = ToyInstance.pipeline
    label = "kernels of tests, as code objects"
    directions = frozenset({"fwd"})

    def make_instance(self, catalog: Any, direction: str, record: Any) -> ToyInstance:
        """Return the instance of a record."""
        return ToyInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            block=record.block,
        )

    def kernel_name(self, instance: Any) -> str:
        """Return its name."""
        return f"toy_{instance.direction}_{instance.dtype.value}_{instance.block}"

    def instance_string(self, instance: Any) -> str:
        """Return what a list has."""
        return render_string(STRINGS, {"input_type": instance.dtype.value, "block": instance.block})

    def code_object(self, instance: Any, arch: str) -> bytes:
        """Return the compiled kernels."""
        element = {"fp32": "float", "fp16": "_Float16"}[instance.dtype.value]
        return compiled(arch, f"-DELEMENT={element}", f"-DNUMBER={instance.block}")

    def launch_description(self, instance: Any) -> LaunchDescription:
        """Return it: all kinds of arguments."""
        sizes = ("N", "K", "C", "in_h", "in_w", "filter_h", "filter_w", "out_h", "out_w")
        window = ("stride_h", "stride_w", "dilation_h", "dilation_w", "pad_h", "pad_w")
        return LaunchDescription(
            kernel="convolution",
            arguments=(
                Pointer("input"),
                # 4 bytes of nothing behind each number
                Struct(8 * len(sizes), tuple((8 * n, Scalar("i32", name)) for n, name in enumerate(sizes))),
                Pointer("weight"),
                Scalar("u8", 1),
                Struct(
                    8 + 4 * len(window) + 8,
                    (
                        (0, Pointer("output")),
                        *((8 + 4 * n, Scalar("i32", name)) for n, name in enumerate(window)),
                        (32, Scalar("f32", "G")),
                    ),
                ),
                Pointer("workspace"),
            ),
            grid=(f"ceil_div(N * out_h * out_w * K * G, {instance.block})",),
            block=(instance.block,),
            dynamic_lds=LARGE_LDS if instance.block == LARGE else f"4 * {instance.block}",
            workspace="4 * N * out_h * out_w * K * G",
            cleared=(Cleared("workspace", "4 * N * out_h * out_w * K * G"),),
            conditions=(Condition("channels", "C % 2 == 0", "C is a multiple of 2"),),
        )


@hookimpl
def ckprof_register(registry: Any) -> None:
    """Register the family."""
    registry.add(
        ToyFamily(),
        CatalogVariant(
            name="forward_toy",
            direction="fwd",
            record_type=ToyRecord,
            pipeline=ToyFamily.id,
            layouts=LAYOUTS,
            dtypes=(DataType.FP32, DataType.FP16),
        ),
        FAMILY,
        STRINGS,
    )
