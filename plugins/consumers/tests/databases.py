"""Databases of MIOpen that are in order, of kernels of shipped lists, with keys by their description."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache

from ckprof_plugins.consumers._old_ck.kernels import KernelIndex, OldKernel
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.directions._convolution.problem import ConvProblem

LETTERS = {"fwd": "F", "bwd_data": "B", "bwd_weight": "W"}
TYPES = {"fp16": "FP16", "bf16": "BF16", "fp32": "FP32"}
SIZES = {"fp16": 2, "bf16": 2, "fp32": 4}
WAYS = {"F": "Fwd", "B": "Bwd", "W": "Wrw"}
ALGORITHMS = {"F": "Fwd", "B": "BwdData", "W": "BwdWeights"}


@cache
def shipped():
    """The shipped lists that these databases are made of."""
    return kernel_lists([f"{folder}/profiler" for folder in ("forward", "backward_data", "backward_weight")])


@cache
def index():
    """The kernels of these lists."""
    return KernelIndex(shipped())


@dataclass(frozen=True)
class Tuned:
    """One tuned problem."""

    problem: ConvProblem
    letter: str
    dtype: str
    kernel: OldKernel
    splits: int
    channels_last: bool = True
    time: str = "0.125"

    @property
    def ndim(self):
        return len(self.problem.filter)

    @property
    def solver(self):
        return f"ConvHipImplicitGemm{'3D' if self.ndim == 3 else ''}Group{WAYS[self.letter]}Xdlops"

    @property
    def layout(self):
        inner = "DHW"[3 - self.ndim :]
        return f"N{inner}C" if self.channels_last else f"NC{inner}"

    @property
    def algorithm(self):
        return f"miopenConvolution{ALGORITHMS[self.letter]}AlgoImplicitGEMM"

    def sides(self):
        """(channels, lengths) of what keys call in and out."""
        p = self.problem
        x, y = (p.groups * p.in_channels, p.input), (p.groups * p.out_channels, p.output)
        return (x, y) if self.letter == "F" else (y, x)

    def find_key(self, **changes):
        p, (first, second) = self.problem, self.sides()
        parts = {
            "in_channels": first[0],
            "in": "-".join(map(str, first[1])),
            "filter": "x".join(map(str, p.filter)),
            "out_channels": second[0],
            "out": "-".join(map(str, second[1])),
            "batch": p.batch,
            "pads": "x".join(map(str, p.left_pads)),
            "strides": "x".join(map(str, p.strides)),
            "dilations": "x".join(map(str, p.dilations)),
            "bias": 0,
            "layouts": "-".join([self.layout] * 3) if self.channels_last else self.layout,
            "types": TYPES[self.dtype],
            "letter": self.letter,
        }
        parts.update(changes)
        groups = parts.pop("groups", f"_g{p.groups}" if p.groups > 1 else "")
        return "-".join(str(part) for part in parts.values()) + groups

    def columns(self):
        p, (first, second) = self.problem, self.sides()

        def hwd(values, missing):
            return [values[-2], values[-1], values[0] if self.ndim == 3 else missing]

        names = "in fil pad conv_stride dilation".split()
        values = [
            hwd(first[1], 1),
            hwd(p.filter, 1),
            hwd(p.left_pads, 0),
            hwd(p.strides, 0),
            hwd(p.dilations, 0),
        ]
        by_name = {
            f"{name}_{axis}": value
            for name, three in zip(names, values, strict=True)
            for axis, value in zip("hwd", three, strict=True)
        }
        return {
            "spatial_dim": self.ndim,
            "in_channels": first[0],
            **{key: by_name[key] for key in ("in_h", "in_w", "in_d", "fil_h", "fil_w", "fil_d")},
            "out_channels": second[0],
            "batchsize": p.batch,
            **{key: value for key, value in by_name.items() if not key.startswith(("in_", "fil_"))},
            "bias": 0,
            "group_count": p.groups,
            "layout": self.layout,
            "data_type": TYPES[self.dtype],
            "direction": self.letter,
        }

    def perf_key(self, **changes):
        return "x".join(str(value) for value in {**self.columns(), **changes}.values())

    @property
    def value(self):
        name = self.kernel.names[0]
        return name if self.letter == "F" else f"{name}+{self.splits}"

    @property
    def workspace(self):
        p, size = self.problem, SIZES[self.dtype]
        counts = [p.batch * channels for channels in (p.groups * p.in_channels, p.groups * p.out_channels)]
        for position, lengths in enumerate((p.input, p.output)):
            for length in lengths:
                counts[position] *= length
        weight = p.groups * p.out_channels * p.in_channels
        for length in p.filter:
            weight *= length
        odd = p.in_channels % 2 or p.out_channels % 2
        sums = 4 * counts[0] if self.letter == "W" and self.dtype == "fp16" and odd else 0
        if self.channels_last:
            return sums
        return sum((one + 255) // 256 * 256 for one in (*(size * count for count in (*counts, weight)), sums))

    def perf_row(self, **changes):
        return f"{self.perf_key(**changes)}={self.solver}:{self.value}"

    def find_entry(self, **changes):
        values = {"time": self.time, "workspace": self.workspace, "algorithm": self.algorithm, **changes}
        return f"{self.solver}:{','.join(str(value) for value in values.values())}"

    def find_row(self, **changes):
        return f"{self.find_key(**changes)}={self.find_entry()}"


def tuned(draw, letter="", ndim=0, groups=0):
    """Draw a problem with a kernel that supports it, and whose name no other kernel has."""
    while True:
        direction = draw.choice([id_ for id_, one in LETTERS.items() if letter in ("", one)])
        axes = ndim or draw.choice((2, 2, 3))
        dtype = draw.choice(tuple(TYPES))
        taps = draw.choice((1, 3))
        problem = ConvProblem(
            groups=groups or draw.choice((1, 2, 4)),
            batch=draw.choice((2, 8, 32)),
            out_channels=draw.choice((8, 64, 128)),
            in_channels=draw.choice((8, 64, 128)),
            filter=(taps,) * axes,
            input=tuple(draw.choice((14, 28)) for _ in range(axes)),
            strides=(draw.choice((1, 2)),) * axes,
            dilations=(1,) * axes,
            left_pads=(taps // 2,) * axes,
            right_pads=(taps // 2,) * axes,
        )
        family = (direction, axes, dtype)
        splits = draw.choice((1, 2)) if direction == "bwd_weight" else 1
        kernels = [
            kernel
            for kernel in index().all_of(family)
            if len(index().find(family, kernel.names[0])) == 1
            and not support(kernel, problem, dtype, splits, "gfx942").unmet
        ]
        if kernels:
            kernel = draw.choice(kernels)
            return Tuned(problem, LETTERS[direction], dtype, kernel, splits, draw.random() < 0.7)


def changed(one, **changes):
    """The same with something else in its problem."""
    return replace(one, problem=replace(one.problem, **changes))


def sqlite_database(path, rows):
    """Write a performance database in SQLite's format: of each row the key, solver and parameters."""
    columns = list(rows[0][0])
    texts = columns[-3:]
    with closing(sqlite3.connect(path)) as connection:
        cells = ", ".join(f"`{name}` {'TEXT' if name in texts else 'INT'} NOT NULL" for name in columns)
        connection.execute(f"CREATE TABLE config (id INTEGER PRIMARY KEY ASC, {cells})")
        connection.execute(
            "CREATE TABLE perf_db (id INTEGER PRIMARY KEY ASC, solver TEXT NOT NULL, "
            "config INTEGER NOT NULL, params TEXT NOT NULL)"
        )
        for number, (row, solver, value) in enumerate(rows, 1):
            marks = ", ".join("?" * len(columns))
            connection.execute(
                f"INSERT INTO config (id, {', '.join(columns)}) VALUES ({number}, {marks})",  # noqa: S608
                tuple(row.values()),
            )
            connection.execute("INSERT INTO perf_db VALUES (?, ?, ?, ?)", (number, solver, number, value))
        connection.commit()
