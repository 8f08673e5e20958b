"""Layers and products that no kernel was written for, on an NVIDIA GPU against the vendor's library.

``python -m plugins.cuda.tests.benchmarks.cuda_unseen OPERATION [--kernels rule-set:hopper] [--half
held-out]`` builds a rule set's or a list's instances in bf16, runs each of them on each problem of a half
of ``unseen_layers.csv`` or ``unseen_products.csv``, compares its result with torch's, and prints the time
of the fastest beside torch's. Layers are channels last. Engines and heuristics are tuned on one half
alone; the other one is for a look when that is done. Times are taken as in ``test_cuda.py``: medians,
torch's and the best instance's samples in turns, each after a flush of the caches. Needs a GPU, nvcc and
torch.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.measure.worker.abi import CBuffers, CProblem, Library
from ckprof.measure.worker.messages import AbiStatus
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem

from .device_timing import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
BOTH = "both"
HALVES = ("tuned", "held-out", BOTH)
#: of the instances that were fastest at first
FINALISTS = 14
TRIALS = 5
#: of a result in bf16, relative to torch's; where many parts of it are added in that type
MOST_ERROR = 0.01
MOST_ERROR_OF_PARTS = 0.02
AUTO = -1
#: numbers of parts of the reduction that are tried where a kernel has a choice, beside its own
SPLITS = {"bwd_weight": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A convolution, and its tensors on the device."""

    name: str
    problem: ConvProblem

    @classmethod
    def of(cls, row):
        """Return the layer of a line of the file, which counts channels of all groups."""
        texts = {name: text for name, text in row.items() if name not in ("half", "name")}
        sizes = {name: [int(part) for part in text.split("x")] for name, text in texts.items()}
        both = {name: tuple(sizes[name] * (2 // len(sizes[name]))) for name in ("stride", "pad", "dilation")}
        (groups,) = sizes["groups"]
        problem = ConvProblem(
            groups=groups,
            batch=sizes["batch"][0],
            out_channels=sizes["out_channels"][0] // groups,
            in_channels=sizes["in_channels"][0] // groups,
            filter=tuple(sizes["filter"]),
            input=tuple(sizes["input"]),
            strides=both["stride"],
            dilations=both["dilation"],
            left_pads=both["pad"],
            right_pads=both["pad"],
        )
        return cls(name=row["name"], problem=problem)

    def tensors(self, torch, direction):
        """Draw operands; channels last."""
        p = self.problem

        def image(size, first, channels):
            return torch.randn(first, *size, channels, device="cuda").to(torch.bfloat16)

        given = {
            "bwd_data": image(p.input, p.batch, p.groups * p.in_channels),
            "bwd_weight": image(p.filter, p.groups * p.out_channels, p.in_channels),
            "fwd": image(p.output, p.batch, p.groups * p.out_channels),
        }
        result = torch.empty_like(given[direction])
        x, w, y = (given[name].permute(0, 3, 1, 2) for name in ("bwd_data", "bwd_weight", "fwd"))
        settings = ([*p.strides], [*p.left_pads], [*p.dilations], False, [0, 0], p.groups)
        mask = (direction == "bwd_data", direction == "bwd_weight", False)

        def vendor():
            if direction == "fwd":
                return torch.ops.aten.convolution(x, w, None, *settings)
            computed = torch.ops.aten.convolution_backward(y, x, w, None, *settings, mask)
            return computed[0] if mask[0] else computed[1]

        buffers = [result if name == direction else given[name] for name in ("bwd_data", "bwd_weight", "fwd")]
        return Tensors(result, buffers, vendor, lambda found: found.permute(0, 2, 3, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiplication:
    """A product of matrices; row-major times column-major."""

    name: str
    problem: GemmProblem

    @classmethod
    def of(cls, row):
        """Return the product of a line of the file."""
        m, n, k = (int(row[name]) for name in "mnk")
        return cls(name=row["name"], problem=GemmProblem(m=m, n=n, k=k))

    def tensors(self, torch, direction):
        """Draw operands."""
        del direction
        p = self.problem
        a, b = (torch.randn(lines, p.k, device="cuda").to(torch.bfloat16) for lines in (p.m, p.n))
        result = torch.empty(p.m, p.n, device="cuda", dtype=torch.bfloat16)
        return Tensors(result, [a, b, result], lambda: torch.matmul(a, b.T), lambda found: found)


@dataclass(frozen=True, slots=True)
class Tensors:
    """A result, all tensors in the operation's order, what computes the result with torch."""

    result: Any
    all: list[Any]
    vendor: Callable[[], Any]
    #: torch's result with the axes as they are in memory
    in_memory: Callable[[Any], Any]

    @property
    def buffers(self):
        return CBuffers.of(*(tensor.data_ptr() for tensor in self.all))


@dataclass(slots=True)
class Row:
    """What was measured of a problem, in microseconds."""

    name: str
    torch_us: float
    #: kernel, parts of the reduction, time; the fastest first
    ranking: list[tuple[str, int, float]] = field(default_factory=list)
    #: the same of all that were run, from one launch with warm caches
    first: list[tuple[str, int, float]] = field(default_factory=list)
    best_us: float = math.nan
    #: the fastest with the number of parts that its kernel has chosen
    automatic_us: float = math.nan
    wrong: list[str] = field(default_factory=list)

    @property
    def ratio(self):
        """Torch's time to the best one's; 0 if no kernel supports the problem."""
        return self.torch_us / self.best_us if self.ranking else 0.0


def build(operation, kernels, folder):
    """Build a rule set's or a list's instances and load them."""
    kind, _, name = kernels.partition(":")
    only = {"gemm": ["--filter", "layout == 'rcr'"]}.get(operation, ["--ndim", "2"])
    chosen = ["--rule-set", name, *only] if kind == "rule-set" else ["--conf", name]
    command = [sys.executable, "-m", "ckprof", "build", operation, *chosen, "--dtype", "bf16"]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--target", "cuda", "--build-dir", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    library = Library.load(next(folder.rglob("*.so")))
    library.target.select_device("gfx942", 0)
    print(f"{len(library.kernels)} kernels, built in {time.perf_counter() - start:.0f} s", flush=True)
    return library


def supported(kernel, problem, splits):
    """Return the numbers of parts that a kernel supports; its own choice comes first."""
    own = kernel.is_supported(CProblem.of(problem, AUTO)) if len(splits) > 1 else None
    seen = set()
    if own is not None and own.status is AbiStatus.OK:
        yield AUTO
        seen.add(own.split_k)
    for split in splits:
        if split not in seen and kernel.is_supported(CProblem.of(problem, split)).status is AbiStatus.OK:
            yield split


def measure(torch, library, operation, one):
    """Measure all instances on a problem; those that compute something else than torch are named."""
    tensors = one.tensors(torch, operation)
    expected = tensors.in_memory(tensors.vendor()).float()
    norm = expected.norm()
    watch = Stopwatch(torch=torch, library=library)
    for _ in range(3):
        tensors.vendor()
    row = Row(one.name, math.nan)
    first = []
    for name, kernel in library.kernels.items():
        for split in supported(kernel, one.problem, SPLITS.get(operation, (1,))):
            asked = CProblem.of(one.problem, split)
            # The first launch of a kernel also loads it.
            kernel.run(asked, tensors.buffers)
            tensors.result.fill_(float("nan"))
            status, reason, time_ms = kernel.run(asked, tensors.buffers)
            error = ((tensors.result.float() - expected).norm() / norm).item()
            if status is not AbiStatus.OK or not error < (MOST_ERROR if split == 1 else MOST_ERROR_OF_PARTS):
                row.wrong.append(f"{kernel.name}, {split} parts: {status.name} {reason} error {error}")
                continue
            first.append((time_ms, name, kernel, split))
    first.sort(key=lambda entry: entry[0])
    row.first = [(kernel.name, split, 1e3 * time_ms) for time_ms, _, kernel, split in first]
    automatic = [entry for entry in first if entry[3] == AUTO][:FINALISTS]
    timed = []
    for _, _, kernel, split in {id(entry): entry for entry in first[:FINALISTS] + automatic}.values():
        problem = CProblem.of(one.problem, split)
        median = statistics.median(watch.kernel_ms(kernel, problem, tensors.buffers) for _ in range(TRIALS))
        timed.append((median, kernel, split))
    timed.sort(key=lambda entry: entry[0])
    row.ranking = [(kernel.name, split, 1e3 * time_ms) for time_ms, kernel, split in timed]
    if not timed:
        row.torch_us = 1e3 * watch.in_turns(lambda: watch.torch_ms(tensors.vendor), lambda: 0.0)[0]
        return row
    _, kernel, split = timed[0]
    problem = CProblem.of(one.problem, split)
    torch_ms, best_ms = watch.in_turns(
        lambda: watch.torch_ms(tensors.vendor), lambda: watch.kernel_ms(kernel, problem, tensors.buffers)
    )
    row.torch_us, row.best_us = 1e3 * torch_ms, 1e3 * best_ms
    own = [time_ms for time_ms, _, split in timed if split == AUTO]
    row.automatic_us = 1e3 * own[0] if own else math.nan
    return row


def read(operation, half):
    """Return the problems of a half, or of both."""
    name, kind = (
        ("unseen_products.csv", Multiplication) if operation == "gemm" else ("unseen_layers.csv", Layer)
    )
    with (HERE / name).open() as lines:
        return [kind.of(row) for row in csv.DictReader(lines) if half in (BOTH, row["half"])]


def main():
    """Print the table of an operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", choices=("fwd", "bwd_data", "bwd_weight", "gemm"))
    parser.add_argument("--kernels", default="rule-set:hopper", help="rule-set:ID or list:NAME")
    parser.add_argument("--half", default="tuned", choices=HALVES)
    parser.add_argument("--only", default="", help="a regular expression for names of problems")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        library = build(options.operation, options.kernels, Path(folder))
        rows = []
        for one in read(options.operation, options.half):
            if not re.search(options.only, one.name):
                continue
            row = measure(torch, library, options.operation, one)
            rows.append(row)
            best = row.ranking[0] if row.ranking else ("no kernel", 0, math.nan)
            print(
                f"{row.name:28} torch {row.torch_us:8.1f} us  best {row.best_us:8.1f} us  "
                f"ratio {row.ratio:5.2f}  auto {row.automatic_us:8.1f} us  {best[1]:3} {best[0]}",
                *(f"\n    WRONG {text}" for text in row.wrong[:3]),
                flush=True,
            )
    ratios = [row.ratio for row in rows if row.ranking]
    mean = statistics.geometric_mean(ratios)
    print(
        f"{options.operation}, {options.kernels}, {options.half}: geometric mean {mean:.3f}, "
        f"{sum(ratio < 0.9 for ratio in ratios)} of {len(rows)} below 0.9, "
        f"{len(rows) - len(ratios)} without a kernel, {sum(len(row.wrong) for row in rows)} wrong"
    )
    own = [row.torch_us / row.automatic_us for row in rows if not math.isnan(row.automatic_us)]
    if own:
        near = sum(row.automatic_us <= 1.05 * row.best_us for row in rows)
        mean = statistics.geometric_mean(own)
        print(f"automatic parts alone: {mean:.3f}, {near} of {len(rows)} within 5 % of the best")
    if options.json:
        fields = [{name: getattr(row, name) for name in Row.__slots__} for row in rows]
        options.json.write_text(json.dumps(fields))


if __name__ == "__main__":
    main()
