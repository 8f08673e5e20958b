"""Matrix products on an NVIDIA GPU against the vendor's library, in one process and under equal conditions.

Results of all layouts and types come first, with padded strides, odd sizes and split K, against products in
double precision. Then the times: event times after a flush of the caches, torch's and the best instance's
samples taken in turns. The instances are tiles that the shipped lists have, and others by hand. Goals, as
ratios of torch's time to the best instance's, are printed beside what was reached; ratios below the floor
fail.

Needs a GPU, nvcc and torch: ``pytest -s plugins/cuda/tests/benchmarks/test_cuda_gemm.py -m cuda``.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pytest

from ckprof.measure.worker.abi import CBuffers, CProblem, Library
from ckprof.measure.worker.messages import AbiStatus
from ckprof_plugins.operations.gemm.problem import GemmProblem
from tests.called import ckprof_apart

from .device_timing import Stopwatch

#: of each instance, to find the best
TRIALS = 3
SPLITS = (1, 2, 3, 4)
#: bytes per second that a copy moves, read and written
COPY_RATE = 4.25e12
#: 8-bit floating point is encoded as on NVIDIA's GPUs there
OCP_ARCH = "gfx950"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What tells the instances of this file apart."""

    m: int
    n: int
    k: int = 64
    pipeline: str = "compv3"
    waves: tuple[int, int] = (2, 2)
    mma: tuple[int, int, int] = (32, 32, 16)
    epilogue: str = "cshuffle"
    scheduler: str = "intrawave"
    vectors: tuple[int, int, int] = (0, 0, 0)

    def record(self, number, persistent=False):
        """Return the catalog's form, with all pads."""
        record = {
            **{"id": number, "tile_m": self.m, "tile_n": self.n, "tile_k": self.k},
            **{"warp_m": self.waves[0], "warp_n": self.waves[1], "warp_k": 1},
            **{"warp_tile_m": self.mma[0], "warp_tile_n": self.mma[1], "warp_tile_k": self.mma[2]},
            **{"pipeline": self.pipeline, "scheduler": self.scheduler, "epilogue": self.epilogue},
            **{"pad_m": True, "pad_n": True, "pad_k": True},
        }
        if persistent:
            record["persistent"] = True
        if self.vectors[0]:
            record |= dict(
                zip(("vector_size_a", "vector_size_b", "vector_size_c"), self.vectors, strict=True)
            )
        return record


SMALL = (16, 16, 32)
LARGE_TILES = (
    Tile(m=128, n=256),
    Tile(m=256, n=128),
    Tile(m=128, n=128, pipeline="compv4"),
    Tile(m=64, n=256, k=32, pipeline="compv4"),
    Tile(m=192, n=128, epilogue="default"),
)
FLAT_TILES = (
    Tile(m=64, n=64, pipeline="mem"),
    Tile(m=64, n=32, pipeline="mem", mma=SMALL),
    Tile(m=64, n=128, pipeline="mem"),
    Tile(m=64, n=64),
    Tile(m=64, n=128),
    Tile(m=64, n=16, pipeline="mem", waves=(4, 1), mma=SMALL),
    Tile(m=16, n=64, pipeline="mem", waves=(1, 2), mma=SMALL),
    Tile(m=16, n=128, pipeline="mem", waves=(1, 4), mma=SMALL),
)
#: engine M, for times of its own
NARROW_TILES = (
    Tile(m=128, n=128, k=32, vectors=(4, 4, 8)),
    Tile(m=128, n=128, k=32, vectors=(4, 4, 8), pipeline="compv4"),
    Tile(m=256, n=128, k=32, vectors=(4, 4, 8)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A size with its floor and goal, and the tiles to be tried."""

    m: int
    n: int
    k: int
    dtype: str = "bf16"
    floor: float
    goal: float
    tiles: tuple[Tile, ...] = LARGE_TILES
    splits: tuple[int, ...] = (1,)
    #: elements between the lines of A and B
    gap: int = 0

    def describe(self):
        """Return one word or two for the table."""
        return f"{self.dtype} {self.m}x{self.n}x{self.k}" + (f" gap {self.gap}" if self.gap else "")

    @property
    def problem(self):
        stride = self.k + self.gap
        return GemmProblem(m=self.m, n=self.n, k=self.k, stride_a=stride, stride_b=stride)


CASES = (
    Case(m=8192, n=8192, k=8192, floor=0.90, goal=0.95),
    Case(m=4096, n=4096, k=4096, floor=0.95, goal=0.95),
    Case(m=3840, n=4096, k=2048, floor=0.95, goal=0.95),
    Case(m=16, n=8192, k=8192, floor=0.95, goal=1.0, tiles=FLAT_TILES, splits=SPLITS),
    # lines that the tensor copy engine cannot bring: engine M
    Case(m=4096, n=4096, k=4096, floor=0.0, goal=0.6, tiles=NARROW_TILES, gap=4),
    Case(m=4096, n=4096, k=4096, dtype="int8", floor=0.0, goal=0.95),
    Case(m=8192, n=8192, k=8192, dtype="fp8", floor=0.0, goal=0.95),
    Case(m=4096, n=4096, k=4096, dtype="fp8", floor=0.0, goal=0.95),
    Case(m=3840, n=4096, k=2048, dtype="fp8", floor=0.0, goal=0.95),
    Case(m=16, n=8192, k=8192, dtype="fp8", floor=0.0, goal=1.0, tiles=FLAT_TILES, splits=SPLITS),
)


@lru_cache(maxsize=16)
def build(folder, dtype, layout, tiles, arch, persistent=False):
    """Build instances and load them."""
    name = f"{dtype}-{layout}-{abs(hash((tiles, arch)))}"
    catalog = {
        **{"variant": "gemm", "ndim_spatial": 0, "layout": layout, "datatype": dtype},
        "instances": [tile.record(number, persistent) for number, tile in enumerate(tiles)],
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(catalog))
    ckprof_apart(
        *("build", "gemm", "--conf", path, "--target", "cuda", "--arch", arch, "--build-dir", folder / name)
    ).ok()
    library = Library.load(next((folder / name).rglob("*.so")))
    library.target.select_device(arch, 0)
    return library


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("no device")
    module.backends.cuda.matmul.allow_tf32 = False
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gemm")


def element_types(torch, dtype, arch):
    """Return torch's types of operands and result."""
    ocp = arch == OCP_ARCH
    return {
        "fp32": (torch.float32, torch.float32),
        "fp16": (torch.float16, torch.float16),
        "bf16": (torch.bfloat16, torch.bfloat16),
        "fp8": (torch.float8_e4m3fn if ocp else torch.float8_e4m3fnuz, torch.float16),
        "bf8": (torch.float8_e5m2 if ocp else torch.float8_e5m2fnuz, torch.float16),
        "int8": (torch.int8, torch.int32),
    }[dtype]


class Matrix:
    """Lines of some elements, a stride apart, with gaps that must not be used, and guards."""

    GUARD: Final = 4096

    def __init__(self, torch, lines, run, stride, dtype):
        self.lines, self.run, self.stride = lines, run, stride
        size = 2 * self.GUARD + lines * stride
        self.integer = dtype in (torch.int8, torch.int32)
        if self.integer:
            self.raw = torch.full((size,), 99, dtype=dtype, device="cuda")
        else:
            self.raw = torch.full((size,), float("nan"), device="cuda").to(dtype)
        self.values = self.raw[self.GUARD : self.GUARD + lines * stride].view(lines, stride)[:, :run]

    def fill(self, torch):
        """Draw the elements."""
        if self.integer:
            drawn = torch.randint(-128, 128, self.values.shape, device="cuda", dtype=torch.int8)
        else:
            drawn = torch.randn(self.values.shape, device="cuda")
        self.values.view(torch.uint8 if self.raw.element_size() == 1 else self.raw.dtype).copy_(
            drawn.to(self.raw.dtype).view(torch.uint8 if self.raw.element_size() == 1 else self.raw.dtype)
        )

    @property
    def address(self):
        return int(self.values.data_ptr())

    def untouched(self, torch):
        """Say whether guards and gaps are what they were."""
        outside = torch.ones_like(self.raw, dtype=torch.bool)
        outside[self.GUARD : self.GUARD + self.lines * self.stride].view(self.lines, self.stride)[
            :, : self.run
        ] = False
        left = self.raw[outside]
        return bool((left == 99).all() if self.integer else left.isnan().all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Operands, their product in double precision, and room for the result."""

    problem: GemmProblem
    a: Matrix
    b: Matrix
    e: Matrix
    expected: Any

    @classmethod
    def draw(cls, torch, problem, layout, types):
        p = problem
        a_lines, a_run = (p.m, p.k) if layout[0] == "r" else (p.k, p.m)
        b_lines, b_run = (p.k, p.n) if layout[1] == "r" else (p.n, p.k)
        a = Matrix(torch, a_lines, a_run, p.stride_a or a_run, types[0])
        b = Matrix(torch, b_lines, b_run, p.stride_b or b_run, types[0])
        e = Matrix(torch, p.m, p.n, p.stride_e or p.n, types[1])
        a.fill(torch)
        b.fill(torch)
        left, right = (one.values.float().double() for one in (a, b))
        expected = (left if layout[0] == "r" else left.T) @ (right if layout[1] == "r" else right.T)
        return cls(problem=problem, a=a, b=b, e=e, expected=expected)

    def run(self, torch, kernel, split_k, precision):
        """Run a kernel and return what is wrong with what it did."""
        self.e.values.fill_(77 if self.e.integer else float("nan"))
        buffers = CBuffers.of(self.a.address, self.b.address, self.e.address)
        status, reason, _ = kernel.run(CProblem.of(self.problem, split_k), buffers)
        if status is not AbiStatus.OK:
            return f"{status}: {reason}"
        found = self.e.values.double()
        # parts of K can be added in the type of the result, and are no smaller than the sum
        bound = 2 * precision * (self.expected.abs() + split_k * self.expected.abs().max() / 8)
        wrong = ~((found - self.expected).abs() <= bound)
        if wrong.any():
            where = wrong.nonzero()[0].tolist()
            return f"{int(wrong.sum())} of {wrong.numel()} elements, first {where}"
        return "" if self.e.untouched(torch) else "wrote outside the result"


#: of the result's type, times two; sums of 8-bit products keep 14 bits, of which each addition costs some.
#: Of fp32 per square root of the number of additions: their errors are independent
PRECISION = {"fp32": 2**-22, "fp16": 2**-10, "bf16": 2**-7, "fp8": 2**-6, "bf8": 2**-6, "int8": 0.0}
CHECKED_TILES = (
    Tile(m=128, n=256),
    Tile(m=256, n=128, k=32),
    Tile(m=256, n=256, k=32, pipeline="compv4"),
    Tile(m=128, n=128, pipeline="compv4", k=32),
    Tile(m=64, n=64, pipeline="mem", scheduler="interwave"),
    Tile(m=192, n=128, epilogue="default", k=32),
    Tile(m=64, n=32, pipeline="compv1", mma=SMALL),
    Tile(m=32, n=16, pipeline="mem", waves=(2, 1), mma=SMALL),
    Tile(m=128, n=128, k=32, vectors=(1, 1, 1)),
    Tile(m=64, n=64, k=32, vectors=(2, 2, 2), pipeline="compv4"),
)
CODE_TILES = (CHECKED_TILES[3], CHECKED_TILES[6])
FP32_TILES = (
    Tile(m=128, n=128, k=16, mma=(32, 32, 8)),
    Tile(m=64, n=32, k=32, mma=(16, 16, 16), pipeline="mem"),
    Tile(m=64, n=64, k=16, mma=(16, 16, 16), vectors=(1, 1, 1)),
)
CHECKED = [
    *(("bf16", layout, CHECKED_TILES, "gfx942") for layout in ("rcr", "rrr", "ccr", "crr")),
    ("fp16", "rcr", CHECKED_TILES[:5], "gfx950"),
    ("fp8", "rcr", CHECKED_TILES[:9], "gfx950"),
    ("fp8", "rcr", CHECKED_TILES[3:9], "gfx942"),
    ("fp8", "crr", CHECKED_TILES[3:9], "gfx950"),
    ("bf8", "rcr", CHECKED_TILES[:5], "gfx950"),
    ("bf8", "rrr", CHECKED_TILES[3:9], "gfx942"),
    ("int8", "rcr", CHECKED_TILES[:9], "gfx942"),
    ("int8", "ccr", CHECKED_TILES[3:9], "gfx942"),
    ("fp32", "rcr", FP32_TILES, "gfx942"),
    ("fp32", "crr", FP32_TILES, "gfx942"),
]
CODED = [
    *((dtype, "rrr", arch) for dtype in ("fp8", "bf8", "int8") for arch in ("gfx942", OCP_ARCH)),
    *((dtype, "rcr", OCP_ARCH) for dtype in ("fp8", "bf8")),
]
#: whole tiles, single elements, a deep product; then what is drawn
FIXED = (
    GemmProblem(m=256, n=512, k=256),
    GemmProblem(m=1, n=8, k=64),
    GemmProblem(m=333, n=520, k=1000, stride_a=1008, stride_b=1040, stride_e=528),
    GemmProblem(m=16, n=1024, k=4096),
)


def problems(layout, count):
    """Return sizes that are multiples of 16, of 8, or odd, packed or not."""
    drawn = random.Random(layout)
    found = []
    for number in range(count):
        step = (16, 8, 1, 2)[number % 4]
        m, n, k = (step * drawn.randint(1, 640 // step) for _ in range(3))
        runs = (k if layout[0] == "r" else m, n if layout[1] == "r" else k, n)
        gaps = [drawn.choice((0, step, 4 * step)) for _ in runs]
        strides = [run + gap if gap else 0 for run, gap in zip(runs, gaps, strict=True)]
        found.append(
            GemmProblem(m=m, n=n, k=k, stride_a=strides[0], stride_b=strides[1], stride_e=strides[2])
        )
    return found


@pytest.mark.cuda
@pytest.mark.parametrize(("dtype", "layout", "tiles", "arch"), CHECKED)
def test_products_are_right(dtype, layout, tiles, arch, torch, folder):
    """All layouts, types, pads and splits against a product in double precision."""
    library = build(folder, dtype, layout, tiles, arch)
    runs, wrong = dict.fromkeys(library.kernels, 0), []
    # both are multiples of the widest vectors in the layouts that have M or N along a line
    wide = [one for one in FIXED if layout == "rcr" or one.stride_a == 0]
    for problem in (*wide, *problems(layout, 12)):
        product = Product.draw(torch, problem, layout, element_types(torch, dtype, arch))
        precision = PRECISION[dtype] * (math.sqrt(problem.k) if dtype == "fp32" else 1)
        for key, kernel in library.kernels.items():
            for split_k in (1, 2, 5):
                if kernel.is_supported(CProblem.of(problem, split_k)).status is not AbiStatus.OK:
                    continue
                runs[key] += 1
                error = product.run(torch, kernel, split_k, precision)
                if error:
                    wrong.append(f"{kernel.name}, {problem.describe()}, {split_k} splits: {error}")
    print(f"\n{dtype} {layout} {arch}: {len(runs)} kernels, {sum(runs.values())} runs, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:12])
    assert all(runs.values()), [library.kernels[key].name for key, count in runs.items() if not count]


@pytest.mark.cuda
@pytest.mark.parametrize(("dtype", "layout", "arch"), CODED)
def test_all_codes_are_decoded(dtype, layout, arch, torch, folder):
    """A has a code in each row, which is multiplied with one."""
    library = build(folder, dtype, layout, CODE_TILES, arch)
    operand, result = element_types(torch, dtype, arch)
    depth = 32  # a step of both kernels
    codes = torch.zeros(256, depth, dtype=torch.uint8, device="cuda")
    codes[:, 0] = torch.arange(256, device="cuda")
    one = torch.ones(16, device="cuda").to(operand).view(torch.uint8)
    b = torch.zeros(*((depth, 16) if layout == "rrr" else (16, depth)), dtype=torch.uint8, device="cuda")
    (b[0] if layout == "rrr" else b[:, 0]).copy_(one)
    expected = codes[:, 0].contiguous().view(operand).float()
    for kernel in library.kernels.values():
        e = torch.full((256, 16), 3, device="cuda").to(result)
        buffers = CBuffers.of(codes.data_ptr(), b.data_ptr(), e.data_ptr())
        problem = CProblem.of(GemmProblem(m=256, n=16, k=depth), 1)
        assert kernel.is_supported(problem).status is AbiStatus.OK, kernel.name
        status, reason, _ = kernel.run(problem, buffers)
        assert status is AbiStatus.OK, f"{kernel.name}: {reason}"
        assert torch.equal(
            e.float().nan_to_num(nan=1e9), expected.nan_to_num(nan=1e9)[:, None].expand(256, 16)
        ), kernel.name


class Timed:
    """A case's matrices on the device, A and E row-major and B column-major."""

    def __init__(self, torch, case):
        self.torch, self.case = torch, case
        operand, result = element_types(torch, case.dtype, OCP_ARCH)
        self.a = self.matrix(case.m, operand)
        self.b = self.matrix(case.n, operand)
        self.e = torch.empty(case.m, case.n, device="cuda", dtype=result)
        self.one = torch.ones((), device="cuda")
        self.buffers = CBuffers.of(self.a.data_ptr(), self.b.data_ptr(), self.e.data_ptr())

    def matrix(self, lines, dtype):
        """Return drawn elements."""
        shape = (lines, self.case.k + self.case.gap)
        if self.case.dtype == "int8":
            return self.torch.randint(-128, 128, shape, device="cuda", dtype=dtype)
        return self.torch.randn(shape, device="cuda").to(dtype)[:, : self.case.k]

    def vendor(self):
        """Compute the product with torch."""
        if self.case.dtype == "int8":
            return self.torch._int_mm(self.a, self.b.T)
        if self.case.dtype != "fp8":
            return self.torch.matmul(self.a, self.b.T)
        return self.torch._scaled_mm(
            self.a, self.b.T, self.one, self.one, out_dtype=self.e.dtype, use_fast_accum=True
        )

    def own_ms(self, watch, kernel, split_k):
        """Return a kernel's time once."""
        return watch.kernel_ms(kernel, CProblem.of(self.case.problem, split_k), self.buffers)

    def ranking(self, watch):
        """Return the instances by time; each must compute what torch does, up to rounding."""
        expected = self.vendor().float()
        found = []
        for kernel in watch.library.kernels.values():
            for split_k in self.case.splits:
                if kernel.is_supported(CProblem.of(self.case.problem, split_k)).status is not AbiStatus.OK:
                    continue
                self.e.fill_(7 if self.case.dtype == "int8" else float("nan"))
                self.own_ms(watch, kernel, split_k)
                error = ((self.e.float() - expected).norm() / expected.norm()).item()
                assert error < 0.01, f"{kernel.name}, {split_k} splits: relative error {error}"
                times = [self.own_ms(watch, kernel, split_k) for _ in range(TRIALS)]
                found.append((statistics.median(times), kernel, split_k))
        return sorted(found, key=lambda one: one[0])


def measure(torch, case, library):
    """Return the ratio of torch's time to the best instance's, and what to print."""
    timed = Timed(torch, case)
    for _ in range(3):
        timed.vendor()
    watch = Stopwatch(torch=torch, library=library)
    ranking = timed.ranking(watch)
    _, kernel, split_k = ranking[0]
    vendor_ms, own_ms = watch.in_turns(
        lambda: watch.torch_ms(timed.vendor), lambda: timed.own_ms(watch, kernel, split_k)
    )
    traffic = sum(one.numel() * one.element_size() for one in (timed.a, timed.b, timed.e))
    rate = traffic / own_ms * 1e3 / COPY_RATE
    return vendor_ms / own_ms, [
        f"{case.describe()}: torch {1e3 * vendor_ms:.1f} us, best {1e3 * own_ms:.1f} us, "
        f"{case.problem.flop / own_ms / 1e9:.0f} TFLOP/s, {rate:.2f} of the copy rate, "
        f"ratio {vendor_ms / own_ms:.3f} (floor {case.floor}, goal {case.goal}), "
        f"{split_k} splits, {kernel.name}",
        *(
            f"    {1e3 * time_ms:8.1f} us  {splits:2} splits  {one.name}"
            for time_ms, one, splits in ranking[:6]
        ),
    ]


@pytest.mark.cuda
def test_ratio_to_the_vendor(torch, folder):
    """Print the table; every case must reach its floor."""
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    short = []
    for case in CASES:
        library = build(folder, case.dtype, "rcr", case.tiles, OCP_ARCH)
        ratio, lines = measure(torch, case, library)
        print("\n".join(lines))
        if ratio < case.floor:
            short.append(f"{case.describe()}: {ratio:.3f} < {case.floor}")
    assert not short, "; ".join(short)


@pytest.mark.cuda
@pytest.mark.parametrize(
    ("further", "line"),
    [
        (
            {"elementwise_op": "MultiDMultiply", "num_d_tensors": 2},
            "gemm_multiply_multiply 1 1 1 1 0 1 320 192 104 -1 -1 -1 200 -1",
        ),
        ({"batched": True}, "batched_gemm 1 1 1 1 0 1 320 192 104 -1 -1 -1 -1 40000 -1 3"),
    ],
)
def test_further_operands(further, line, folder, torch):
    """D tensors and batches, verified as every run is."""
    tiles = (Tile(m=128, n=128), Tile(m=32, n=64, mma=SMALL))
    catalog = {
        **{"variant": "gemm", "ndim_spatial": 0, "layout": "rcr", "datatype": "fp16"},
        "instances": [tile.record(number) | further for number, tile in enumerate(tiles)],
    }
    path = folder / "further.json"
    path.write_text(json.dumps(catalog))
    done = ckprof_apart(
        *("run", "gemm", "--conf", path, "--target", "cuda", "--problem", line),
        *("--max-time", "0.01", "--format", "json"),
    ).ok()
    assert done.out.count('"ok"') >= len(tiles), done.out
