"""What executes instances on NVIDIA GPUs: an engine with its tile, stages and blocks; or, for some problems,
a kernel of another kind.

The rules are those by which kernels are compiled, in the CUDA model's headers. A small library for the host,
compiled when it is first needed, answers by them: instances are asked about before their kernels exist.
Problems whose groups are joined are not told apart: for them a kernel's runs are longer than what is assumed
here. 8-bit floating point is taken to be encoded as on the device that is modelled by default.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_void_p
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.errors import ToolchainError
from ckprof.files import scratch_folder
from ckprof.kernels.keys import FolderDigests, abi_dir, digest_parts
from ckprof.kernels.toolchain import ask, find_compiler
from ckprof.model.gemm_work import Reduction, RunAxis, RunChunks, Schedule
from ckprof.model.types import ComputeType, DataType
from ckprof.paths import cache_dir
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import types_of
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, SmemBuffering
from ckprof_plugins.targets.cpu import target as host_model

if TYPE_CHECKING:
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import TimedKernel


#: names of the engines
ENGINE_W: Final = "engine W"
ENGINE_M: Final = "engine M"
#: columns that belong together in engine W, and the shortest runs that it takes
CHUNK: Final = 64
LEAST_RUN: Final = 16

_HERE: Final = Path(__file__).parent
_SOURCE: Final = _HERE / "src" / "execution.cpp"
_WEIGHT: Final = "bwd_weight"
_PRODUCT: Final = "gemm"
_TIMEOUT_S: Final = 120.0


class _Instance(ctypes.Structure):
    """``instance`` of ``execution.cpp``."""

    _fields_: ClassVar = [
        *((name, c_char_p) for name in ("operation", "factor", "result", "pipeline", "scheduler")),
        *((name, c_int32) for name in ("m", "n", "k", "m_waves", "n_waves", "k_waves", "merged", "blocks")),
        *((name, c_int32) for name in ("a_row_major", "b_row_major", "double_buffer")),
        *((name, c_int32) for name in ("stream_k", "explicit_gemm")),
    ]

    @classmethod
    def of(cls, kernel: TimedKernel) -> _Instance:
        """Return a kernel's; what is not known of its configuration has its usual value."""
        fields = kernel.fields
        product = kernel.direction == _PRODUCT
        pipeline = GemmPipeline(fields["gemm_pipeline"]).properties
        dtype = DataType.parse(kernel.dtype)
        tf32 = fields.get("compute_type") == ComputeType.TF32.value
        layout = str(fields.get("layout", ""))
        m, n, k = kernel.traits.tile
        return cls(
            operation=kernel.direction.encode(),
            factor=(ComputeType.TF32 if tf32 else dtype).value.encode(),
            result=(types_of(dtype).result if product else dtype).value.encode(),
            pipeline=pipeline.enumerator.encode(),
            scheduler=str(fields.get("scheduler", "")).capitalize().encode(),
            m=m,
            n=n,
            k=k,
            **{f"{axis}_waves": int(fields.get(f"wave_grid_{axis}", 1)) for axis in "mnk"},
            merged=int(fields.get("num_groups_to_merge", 1)),
            # launchers of products ask for one
            blocks=1 if product else kernel.traits.workgroups_per_unit,
            a_row_major=layout[:1] == "r",
            b_row_major=layout[1:2] != "c",
            double_buffer=bool(fields.get("double_smem_buffer"))
            or (product and pipeline.buffering is SmemBuffering.DOUBLE),
            stream_k=kernel.traits.schedule is Schedule.STREAM,
            explicit_gemm=bool(fields.get("explicit_gemm")),
        )


class _Execution(ctypes.Structure):
    """``execution`` of ``execution.cpp``."""

    _fields_: ClassVar = [
        (name, c_int32) for name in ("engine_w", "turns", "m", "n", "k", "stages", "blocks")
    ]


def executed(kernel: TimedKernel) -> KernelTraits:
    """Return what a kernel does here; its traits as they are if too little is known of its configuration.

    :raises ToolchainError: there is no C++ compiler.
    """
    traits, fields = kernel.traits, kernel.fields
    if traits.schedule is Schedule.WINDOW or "gemm_pipeline" not in fields:
        return traits
    answer = _Execution()
    _library().ckprof_cuda_execution(byref(_Instance.of(kernel)), byref(answer))
    waves = "x".join(str(fields.get(f"wave_grid_{axis}", "")) for axis in "mnk")
    settled = replace(
        traits,
        lds_stages=answer.stages,
        workgroups_per_unit=answer.blocks,
        labels=(ENGINE_W, "turns" if answer.turns else "shared") if answer.engine_w else (ENGINE_M, waves),
    )
    if not answer.engine_w:
        return settled
    weight = kernel.direction == _WEIGHT
    product = kernel.direction == _PRODUCT
    arrival = (weight or product) and traits.reduction is Reduction.ATOMIC
    chunks = RunChunks(
        axis=RunAxis.COLUMNS if weight else RunAxis.REDUCTION,
        size=min(traits.tile[1], CHUNK) if weight else answer.k,
        least=LEAST_RUN,
        short_k=traits.tile[2],
    )
    return replace(
        settled,
        tile=(answer.m, answer.n, answer.k),
        reduction=Reduction.ARRIVAL if arrival else traits.reduction,
        chunks=traits.chunks if product else chunks,
    )


def substitute(kernel: TimedKernel, problem: Problem) -> str:
    """Return what computes a problem in place of an instance's kernel; empty if nothing does.

    :raises ToolchainError: there is no C++ compiler.
    """
    if "gemm_pipeline" not in kernel.fields or not isinstance(problem, ConvProblem):
        return ""
    from ckprof.measure.worker.abi import CProblem  # late: it imports much

    text: bytes = _library().ckprof_cuda_substitute(
        byref(_Instance.of(kernel)), byref(CProblem.of(problem, 1))
    )
    return text.decode()


@cache
def _library() -> ctypes.CDLL:
    """Return the library that answers, compiled unless the cache has it."""
    compiler = find_compiler()
    folders = (_HERE / "include", host_model.INCLUDE_DIR, abi_dir())
    digests = FolderDigests(None)
    key = digest_parts(compiler.identity, _SOURCE.read_bytes(), *map(digests.of, folders))
    path = cache_dir() / "cuda" / f"execution-{key}.so"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(path.parent) as folder:
            flags = ("-std=c++20", "-O1", "-fPIC", "-shared", *(f"-I{include}" for include in folders))
            done = ask((*compiler.command, *flags, str(_SOURCE), "-o", str(folder / path.name)), _TIMEOUT_S)
            if done.returncode:
                raise ToolchainError(f"{compiler.description} cannot compile {_SOURCE}:\n{done.stderr}")
            (folder / path.name).replace(path)
    library = ctypes.CDLL(str(path))
    library.ckprof_cuda_execution.argtypes = [POINTER(_Instance), POINTER(_Execution)]
    library.ckprof_cuda_execution.restype = None
    library.ckprof_cuda_substitute.argtypes = [POINTER(_Instance), c_void_p]
    library.ckprof_cuda_substitute.restype = c_char_p
    return library


#: of every instance that is a matrix product
IN_BOTH_ENGINES: Final = {
    **dict.fromkeys(
        ("mma_tile_m", "mma_tile_n", "mma_tile_k"), "the MMA tile is that of the device's own instructions"
    ),
    "specialization": "the general arithmetic serves every specialization",
    "split_image": "images are not split",
    "num_wave_groups": "the engine decides about groups of waves",
}
#: of instances that engine W computes, on the problems that it takes
IN_ENGINE_W: Final = {
    "tile_k": "engine W has stages of 128 bytes along k",
    **dict.fromkeys(("vector_size_a", "vector_size_b"), "engine W copies boxes of the operands"),
}


def ignored_fields(kernel: TimedKernel) -> dict[str, str]:
    """Return the fields of an instance that have no meaning and why; none of kernels that are no products."""
    if "gemm_pipeline" not in kernel.fields:
        return {}
    in_engine_w = ENGINE_W in executed(kernel).labels
    ignored = IN_BOTH_ENGINES | (IN_ENGINE_W if in_engine_w else {})
    return {name: why for name, why in ignored.items() if name in kernel.fields}
