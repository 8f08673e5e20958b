"""What kernels really do on NVIDIA GPUs: the engine that computes an instance, its tile, stages and blocks.

The rules are those of the headers ``cuda_model/tile_config.hpp``, ``cuda_model/matrix_config.hpp`` and
``cuda_model/hopper_config.hpp``, for devices of compute capability 9.0; a test compiles these and compares.
Problems whose groups are joined are not told apart: for them a kernel's runs are longer than what is assumed
here. 8-bit floating point is taken to be encoded as on the device that is modelled by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType
from ckprof.model.kernel_traits import Reduction, RunAxis, RunChunks, Schedule
from ckprof_plugins.operations.gemm.element_types import types_of
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline, SmemBuffering
from ckprof_plugins.targets.cuda.capabilities import USUAL_CAPABILITY, shared_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.plugin.timing import TimedKernel

#: names of the engines
ENGINE_W: Final = "engine W"
ENGINE_M: Final = "engine M"
#: shared memory of a multiprocessor in bytes
SHARED_BYTES: Final = shared_bytes(USUAL_CAPABILITY)
REGISTERS: Final = 65536
#: bytes of a row of shared memory
ROW_BYTES: Final = 128
#: columns that belong together in engine W, and the shortest runs that it takes
CHUNK: Final = 64
LEAST_RUN: Final = 16

_PLANS: Final = Path(__file__).parent / "include" / "ck_tile" / "cuda_model" / "pipeline_plan.hpp"
_PLAN: Final = re.compile(r'\{"(\w+)", (\d+), (\d+), (true|false)\}')
_COLUMNS: Final = frozenset({16, 32, 64, 96, 128, 192, 224, 256})
#: the direction whose result is weights
WEIGHT: Final = "bwd_weight"
_PRODUCT: Final = "gemm"
#: its pipeline has its stages before it has resident blocks, in products of matrices
_DEEP: Final = GemmPipeline.MEM
_PRODUCER_REGISTERS: Final = 40
#: directions whose operand B has its channels side by side along k
_ALONG_K: Final = frozenset({"fwd"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePlan:
    """What a GEMM pipeline means here."""

    #: stages of ``tile_k`` in engine M, and of 128 bytes in engine W, before memory bounds them
    stages: int
    hopper_stages: int
    #: engine W: consumers take turns with tiles of their own
    turns: bool


@cache
def pipeline_plans() -> Mapping[str, PipelinePlan]:
    """Return the table of the header, by the names of instance strings."""
    rows = _PLAN.findall(_PLANS.read_text(encoding="utf-8"))
    return {
        name: PipelinePlan(stages=int(stages), hopper_stages=int(hopper), turns=turns == "true")
        for name, stages, hopper, turns in rows
    }


def executed(kernel: TimedKernel) -> KernelTraits:
    """Return what a kernel does here; its traits as they are if too little is known of its configuration."""
    traits, fields = kernel.traits, kernel.fields
    if traits.schedule is Schedule.WINDOW or "gemm_pipeline" not in fields:
        return traits
    plan = pipeline_plans().get(GemmPipeline(fields["gemm_pipeline"]).properties.enumerator)
    if plan is None:
        return traits
    tile = _Tile(kernel)
    hopper = _HopperTile(tile, plan) if tile.fits_engine_w() else None
    if hopper is None or hopper.stages < 2:
        return replace(
            traits,
            lds_stages=tile.stages(plan),
            workgroups_per_unit=tile.blocks,
            labels=(ENGINE_M, "x".join(str(fields.get(f"wave_grid_{axis}", "")) for axis in "mnk")),
        )
    weight = kernel.direction == WEIGHT
    if kernel.direction == _PRODUCT:
        return replace(
            traits,
            tile=(hopper.tile_m, hopper.tile_n, tile.row),
            reduction=Reduction.ARRIVAL if traits.reduction is Reduction.ATOMIC else traits.reduction,
            lds_stages=hopper.stages,
            workgroups_per_unit=hopper.resident,
            labels=_engine_w(hopper),
        )
    chunks = RunChunks(
        axis=RunAxis.COLUMNS if weight else RunAxis.REDUCTION,
        size=min(tile.n, CHUNK) if weight else tile.row,
        least=LEAST_RUN,
        short_k=tile.k,
    )
    arrival = weight and traits.reduction is Reduction.ATOMIC
    return replace(
        traits,
        tile=(hopper.tile_m, hopper.tile_n, tile.row),
        reduction=Reduction.ARRIVAL if arrival else traits.reduction,
        lds_stages=hopper.stages,
        workgroups_per_unit=hopper.resident,
        chunks=chunks,
        labels=_engine_w(hopper),
    )


def _engine_w(tile: _HopperTile) -> tuple[str, str]:
    return ENGINE_W, "turns" if tile.turns else "shared"


class _Tile:
    """An instance's tile as both engines see it."""

    def __init__(self, kernel: TimedKernel) -> None:
        fields: Mapping[str, Any] = kernel.fields
        self.m, self.n, self.k = kernel.traits.tile
        self.weight = kernel.direction == WEIGHT
        self.product = kernel.direction == _PRODUCT
        layout = str(fields.get("layout", ""))
        self.a_along_k = layout.startswith("r") if self.product else not self.weight
        self.b_along_k = layout[1:].startswith("c") if self.product else kernel.direction in _ALONG_K
        pipeline = GemmPipeline(fields["gemm_pipeline"])
        self.deep = self.product and pipeline is _DEEP
        self.stream = kernel.traits.schedule is Schedule.STREAM
        self.double = bool(fields.get("double_smem_buffer", False)) or (
            self.product and pipeline.properties.buffering is SmemBuffering.DOUBLE
        )
        self.dtype = DataType.parse(kernel.dtype)
        self.tf32 = fields.get("compute_type") == ComputeType.TF32.value
        self.memory_bytes = self.dtype.properties.size_bytes
        #: elements of a run that the copy engine brings at once
        self.row = ROW_BYTES // self.memory_bytes
        #: engine M decodes what is shorter
        self.element_bytes = max(2, self.memory_bytes)
        result = types_of(self.dtype).result if self.product else self.dtype
        self.result_bytes = result.properties.size_bytes
        if self.product:
            self.k = -(-self.k // 16) * 16
        self.merged = int(fields.get("num_groups_to_merge", 1)) if kernel.direction != "bwd_data" else 1
        #: engine W computes its products with channels as their rows
        self.transposed = not (self.product or self.weight) and self.m % 64 != 0 and self.n % 64 == 0
        #: sides of products in engine W
        self.rows, self.columns = (self.n, self.m) if self.transposed else (self.m, self.n)
        self.explicit = bool(fields.get("explicit_gemm", False))
        rows = 2 * int(fields.get("wave_grid_m", 1)) * int(fields.get("wave_grid_k", 1))
        self.threads = rows * int(fields.get("wave_grid_n", 1)) * 32
        # launchers of products ask for one
        wanted = 1 if self.product else kernel.traits.workgroups_per_unit
        if fields.get("scheduler") == "interwave":
            wanted = max(2, wanted)
        sums = -(-self.m * self.n // self.threads)
        while wanted > 1 and wanted * self.threads * (sums + 64) > REGISTERS:
            wanted -= 1
        #: resident blocks of a multiprocessor in engine M
        self.blocks = wanted

    def fits_engine_w(self) -> bool:
        """Say whether engine W can compute the tile at all."""
        return (
            self._has_warpgroup_product()
            and not (self.stream or self.explicit)
            and self.rows % 64 == 0
            and self.rows <= 256
            and self.columns in _COLUMNS
            and (self.b_along_k or self.transposed or self.n <= CHUNK or self.n % CHUNK == 0)
            and (self.weight or self.merged == 1)
            and not (self.rows == 192 and self.columns > 128)
        )

    def _has_warpgroup_product(self) -> bool:
        if self.dtype is DataType.INT8 or self.tf32:
            return self.a_along_k and self.b_along_k
        return self.memory_bytes == 2

    def stages(self, plan: PipelinePlan) -> int:
        """Return the stages of engine M."""
        wanted = max(4, plan.stages) if self.double else plan.stages
        a_line, a_lines = (self.k, self.m) if self.a_along_k else (self.m, self.k)
        b_line, b_lines = (self.k, self.n) if self.b_along_k else (self.n, self.k)
        stage = self._line_bytes(a_line) * a_lines + self._line_bytes(b_line) * b_lines
        rows = 0 if self.weight or self.product else -(-self.m * 8 // 128) * 128
        room = SHARED_BYTES // self.blocks - 1024 - rows
        return max(1, min(wanted, room // stage))

    def _line_bytes(self, elements: int) -> int:
        """Return the bytes of a line of an operand: whole rows, or a half or a quarter of one."""
        used = elements * self.element_bytes
        return next((part for part in (32, 64) if used <= part), -(-used // ROW_BYTES) * ROW_BYTES)


class _HopperTile:
    """The tile in engine W."""

    def __init__(self, tile: _Tile, plan: PipelinePlan) -> None:
        n = tile.columns
        m = 128 if tile.rows == 256 and n > 128 else tile.rows
        #: what of the GEMM a block computes
        self.tile_m, self.tile_n = (n, m) if tile.transposed else (m, n)
        rows = m // 64
        self.turns = (plan.turns or tile.double) and rows * n // 2 <= 128
        self._warpgroups = 2 if self.turns or rows == 4 else rows
        self._sums = (rows if self.turns else rows // self._warpgroups) * n // 2
        self._n = n
        chunks = -(-n // 64)
        b_bytes = -(-n * 128 // 1024) * 1024 if tile.b_along_k or tile.transposed else chunks * 8192
        self._stage = m * 128 + b_bytes
        columns = next(width for width in (64, 32, 16) if n % width == 0)
        lines, staged = (columns, 64) if tile.transposed else (64, columns)
        self._other = 1024 + self._warpgroups * lines * (staged * tile.result_bytes + 16)
        #: resident blocks of a multiprocessor
        self.resident = 3 if self._warpgroups == 1 else tile.blocks
        least = plan.hopper_stages if tile.deep else min(plan.hopper_stages, 3)
        if plan.hopper_stages >= 8 and self._warpgroups > 1:
            least = max(least, 4)
        while self.resident > 1 and not self._holds(self.resident, least):
            self.resident -= 1
        self.stages = min(plan.hopper_stages, self._room(self.resident) // self._stage)

    def _holds(self, blocks: int, stages: int) -> bool:
        start = REGISTERS // ((self._warpgroups + 1) * 128 * blocks) // 8 * 8
        first = min(start, 240)
        most = min(240, first + (first - _PRODUCER_REGISTERS) // self._warpgroups // 8 * 8)
        fits = self._room(blocks) >= stages * self._stage
        return fits and most >= self._sums + 40 and start >= self._n // 2 + 32

    def _room(self, blocks: int) -> int:
        return SHARED_BYTES // blocks - 2048 - self._other
