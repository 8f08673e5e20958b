"""The kernels, in FlyDSL's language: a matrix product, and a convolution as one (implicit GEMM).

Both multiply a matrix of ``M`` rows with one of ``N`` columns over a reduction of length ``K``. A workgroup
of 256 work-items computes ``block_m x block_n`` elements of the result. In each step it stages ``block_k`` of
the reduction of both operands in LDS; its four waves multiply them with MFMA instructions of 16 x 16.
Operands lie along the reduction in memory, so that a work-item loads ``vector`` elements at once. What is
outside of an operand is loaded from its begin, and replaced by zeros.

Imported only where FlyDSL is: by :mod:`ckprof_flydsl.compile_one`.
"""

# annotations of FlyDSL's functions are types, not texts: no "from __future__ import annotations" here

import flydsl.compiler as flyc
import flydsl.expr as fx

THREADS = 256
LANES = 64
#: rows and columns of an MFMA instruction
MFMA = 16
#: elements of 16 bits between rows in LDS, so that 16 bytes stay aligned and banks differ
PADDING = 8
TYPES = {"fp16": fx.Float16, "bf16": fx.BFloat16}
INSTRUCTIONS = {
    (fx.Float16, 16): "mfma_f32_16x16x16f16",
    (fx.BFloat16, 16): "mfma_f32_16x16x16bf16_1k",
    (fx.Float16, 32): "mfma_f32_16x16x32_f16",
    (fx.BFloat16, 32): "mfma_f32_16x16x32_bf16",
}


class Tile:
    """What a kernel is specialised for, and what its work-items do for it.

    :param spec: ``dtype``, ``block_m``, ``block_n``, ``block_k``, ``waves_m``, ``vector``, ``mfma_k``.
    """

    def __init__(self, spec):
        self.element = TYPES[spec["dtype"]]
        self.block_m, self.block_n, self.block_k = (spec[f"block_{axis}"] for axis in "mnk")
        self.vector, self.mfma_k, self.waves_m = spec["vector"], spec["mfma_k"], spec["waves_m"]
        self.waves_n = THREADS // LANES // self.waves_m
        #: MFMA tiles of a wave
        self.tiles_m = self.block_m // (self.waves_m * MFMA)
        self.tiles_n = self.block_n // (self.waves_n * MFMA)
        #: vectors that a work-item loads of each operand in a step
        self.loads_m, self.loads_n = (
            rows * self.block_k // (self.vector * THREADS) for rows in (self.block_m, self.block_n)
        )
        #: elements from row to row in LDS
        self.pitch = self.block_k + PADDING

    def place(self, tid, load):
        """Return row and first column, in the tile of an operand, of a vector that a work-item loads."""
        number = (tid + load * THREADS) * self.vector
        return number // self.block_k, number % self.block_k

    def lds(self):
        """Return where both operands are staged."""
        allocator = fx.SharedAllocator()
        sizes = (self.block_m * self.pitch, self.block_n * self.pitch)
        return tuple(allocator.allocate(fx.Array[self.element, size, 16]).peek().ptr for size in sizes)

    def load(self, base, offset, valid):
        """Load a vector, or zeros where it is not valid."""
        kind = fx.Vector[self.element, self.vector]
        zeros = fx.Vector.filled(self.vector, 0.0, self.element)
        return valid.select(fx.ptr_load(base + valid.select(offset, fx.Int32(0)), kind), zeros)

    def stage(self, lds, tid, load, values):
        """Store a vector that a work-item has loaded."""
        row, column = self.place(tid, load)
        fx.ptr_store(values, lds + (row * self.pitch + column))

    def fragments(self, lds, first, tiles, lane, step):
        """Return what a lane brings into the MFMA tiles of one operand, in a step of their reduction."""
        own = self.mfma_k // 4
        kind = fx.Vector[self.element, own]
        column = step * self.mfma_k + lane // MFMA * own
        rows = (first * tiles + tile for tile in range(tiles))
        return [fx.ptr_load(lds + ((row * MFMA + lane % MFMA) * self.pitch + column), kind) for row in rows]

    def zeros(self):
        """Return the sums that a wave begins with."""
        return [fx.Vector.filled(4, 0.0, fx.Float32) for _ in range(self.tiles_m * self.tiles_n)]

    def multiply(self, lds_a, lds_b, lane, wave, sums):
        """Return the sums with the products of what is staged."""
        for step in range(self.block_k // self.mfma_k):
            rows = self.fragments(lds_a, wave % self.waves_m, self.tiles_m, lane, step)
            columns = self.fragments(lds_b, wave // self.waves_m, self.tiles_n, lane, step)
            sums = [
                self.multiply_add(rows[at // self.tiles_n], columns[at % self.tiles_n], one)
                for at, one in enumerate(sums)
            ]
        return sums

    def multiply_add(self, a, b, c):
        """Return one MFMA instruction's ``a * b + c``."""
        name = INSTRUCTIONS[self.element, self.mfma_k]
        if name.endswith("_1k"):
            a, b = a.bitcast(fx.Int16), b.bitcast(fx.Int16)
        kind = fx.Vector[fx.Float32, 4]
        return kind(getattr(fx.rocdl, name)(kind.ir_type, [a, b, c]))

    def results(self, lane, wave, sums):
        """Yield row and column, in the tile of the result, of each element of a lane, and the element."""
        for at, tile in enumerate(sums):
            row = (wave % self.waves_m * self.tiles_m + at // self.tiles_n) * MFMA + lane // MFMA * 4
            column = (wave // self.waves_m * self.tiles_n + at % self.tiles_n) * MFMA + lane % MFMA
            for further in range(4):
                yield row + further, column, tile[further].to(self.element)


def product(spec):
    """Return what launches ``E[m, n] = sum over k of A[m, k] * B[n, k]``; strides are those of rows."""
    tile = Tile(spec)

    @flyc.kernel(name="product")
    def product(
        a: fx.Pointer,
        b: fx.Pointer,
        e: fx.Pointer,
        m: fx.Int32,
        n: fx.Int32,
        k: fx.Int32,
        stride_a: fx.Int32,
        stride_b: fx.Int32,
        stride_e: fx.Int32,
    ):
        tid = fx.Int32(fx.thread_idx.x)
        lane, wave = tid % LANES, tid // LANES
        first_m, first_n = fx.Int32(fx.block_idx.x) * tile.block_m, fx.Int32(fx.block_idx.y) * tile.block_n
        lds_a, lds_b = tile.lds()
        sums = tile.zeros()
        for start in range(fx.Int32(0), k, fx.Int32(tile.block_k)):
            for load in fx.range_constexpr(tile.loads_m):
                row, column = tile.place(tid, load)
                row, column = first_m + row, fx.Int32(start) + column
                values = tile.load(a, row * stride_a + column, (row < m) & (column < k))
                tile.stage(lds_a, tid, load, values)
            for load in fx.range_constexpr(tile.loads_n):
                row, column = tile.place(tid, load)
                row, column = first_n + row, fx.Int32(start) + column
                values = tile.load(b, row * stride_b + column, (row < n) & (column < k))
                tile.stage(lds_b, tid, load, values)
            fx.gpu.barrier()
            sums = tile.multiply(lds_a, lds_b, lane, wave, sums)
            fx.gpu.barrier()
        for row, column, value in tile.results(lane, wave, sums):
            row, column = first_m + row, first_n + column
            if (row < m) & (column < n):
                fx.ptr_store(value, e + (row * stride_e + column))

    @flyc.jit
    def launch(
        a: fx.Pointer,
        b: fx.Pointer,
        e: fx.Pointer,
        m: fx.Int32,
        n: fx.Int32,
        k: fx.Int32,
        stride_a: fx.Int32,
        stride_b: fx.Int32,
        stride_e: fx.Int32,
    ):
        product(a, b, e, m, n, k, stride_a, stride_b, stride_e).launch(block=(THREADS, 1, 1))

    return launch


def convolution(spec):
    """Return what launches a forward convolution, of 1 to 3 axes (``ndim``).

    Tensors are ``[N, Di, Hi, Wi, G, C]``, ``[G, K, Z, Y, X, C]`` and ``[N, Do, Ho, Wo, G, K]``. The matrix
    has a row for each position of the result, a column for each channel of it, and reduces filter and
    channels. Groups are the third axis of the grid.
    """
    tile, axes = Tile(spec), range(3 - spec["ndim"], 3)

    @flyc.kernel(name="convolution")
    def convolution(
        x: fx.Pointer,
        w: fx.Pointer,
        y: fx.Pointer,
        positions: fx.Int32,
        k: fx.Int32,
        c: fx.Int32,
        reduction: fx.Int32,
        groups: fx.Int32,
        in_d: fx.Int32,
        in_h: fx.Int32,
        in_w: fx.Int32,
        out_d: fx.Int32,
        out_h: fx.Int32,
        out_w: fx.Int32,
        filter_d: fx.Int32,
        filter_h: fx.Int32,
        filter_w: fx.Int32,
        stride_d: fx.Int32,
        stride_h: fx.Int32,
        stride_w: fx.Int32,
        dilation_d: fx.Int32,
        dilation_h: fx.Int32,
        dilation_w: fx.Int32,
        pad_d: fx.Int32,
        pad_h: fx.Int32,
        pad_w: fx.Int32,
    ):
        inside, outside = (in_d, in_h, in_w), (out_d, out_h, out_w)
        taps, strides = (filter_d, filter_h, filter_w), (stride_d, stride_h, stride_w)
        dilations, pads = (dilation_d, dilation_h, dilation_w), (pad_d, pad_h, pad_w)
        tid = fx.Int32(fx.thread_idx.x)
        lane, wave = tid % LANES, tid // LANES
        first_m, first_n = fx.Int32(fx.block_idx.x) * tile.block_m, fx.Int32(fx.block_idx.y) * tile.block_n
        group = fx.Int32(fx.block_idx.z)
        # of each row that a work-item loads: the image, and where its window begins
        images, corners = [], []
        for load in fx.range_constexpr(tile.loads_m):
            row, _ = tile.place(tid, load)
            rest, corner = first_m + row, {}
            for axis in fx.range_constexpr(3):
                place = 2 - axis
                if fx.const_expr(place in axes):
                    corner[place] = rest % outside[place] * strides[place] - pads[place]
                    rest = rest // outside[place]
            images.append(rest)
            corners.append(corner)
        lds_a, lds_b = tile.lds()
        sums = tile.zeros()
        for start in range(fx.Int32(0), reduction, fx.Int32(tile.block_k)):
            for load in fx.range_constexpr(tile.loads_m):
                row, column = tile.place(tid, load)
                column = fx.Int32(start) + column
                channel, rest = column % c, column // c
                valid = (first_m + row < positions) & (column < reduction)
                # from the last axis to the first one, then in memory's order
                found = {}
                for axis in fx.range_constexpr(3):
                    place = 2 - axis
                    if fx.const_expr(place in axes):
                        found[place] = corners[load][place] + rest % taps[place] * dilations[place]
                        rest = rest // taps[place]
                        valid = valid & (found[place] >= 0) & (found[place] < inside[place])
                position = images[load]
                for place in fx.range_constexpr(3):
                    if fx.const_expr(place in axes):
                        position = position * inside[place] + found[place]
                values = tile.load(x, (position * groups + group) * c + channel, valid)
                tile.stage(lds_a, tid, load, values)
            for load in fx.range_constexpr(tile.loads_n):
                row, column = tile.place(tid, load)
                row, column = first_n + row, fx.Int32(start) + column
                values = tile.load(
                    w, (group * k + row) * reduction + column, (row < k) & (column < reduction)
                )
                tile.stage(lds_b, tid, load, values)
            fx.gpu.barrier()
            sums = tile.multiply(lds_a, lds_b, lane, wave, sums)
            fx.gpu.barrier()
        for row, column, value in tile.results(lane, wave, sums):
            row, column = first_m + row, first_n + column
            if (row < positions) & (column < k):
                fx.ptr_store(value, y + ((row * groups + group) * k + column))

    @flyc.jit
    def launch(
        x: fx.Pointer,
        w: fx.Pointer,
        y: fx.Pointer,
        positions: fx.Int32,
        k: fx.Int32,
        c: fx.Int32,
        reduction: fx.Int32,
        groups: fx.Int32,
        in_d: fx.Int32,
        in_h: fx.Int32,
        in_w: fx.Int32,
        out_d: fx.Int32,
        out_h: fx.Int32,
        out_w: fx.Int32,
        filter_d: fx.Int32,
        filter_h: fx.Int32,
        filter_w: fx.Int32,
        stride_d: fx.Int32,
        stride_h: fx.Int32,
        stride_w: fx.Int32,
        dilation_d: fx.Int32,
        dilation_h: fx.Int32,
        dilation_w: fx.Int32,
        pad_d: fx.Int32,
        pad_h: fx.Int32,
        pad_w: fx.Int32,
    ):
        convolution(
            x,
            w,
            y,
            positions,
            k,
            c,
            reduction,
            groups,
            in_d,
            in_h,
            in_w,
            out_d,
            out_h,
            out_w,
            filter_d,
            filter_h,
            filter_w,
            stride_d,
            stride_h,
            stride_w,
            dilation_d,
            dilation_h,
            dilation_w,
            pad_d,
            pad_h,
            pad_w,
        ).launch(block=(THREADS, 1, 1))

    return launch


#: kernel -> what makes a launcher of it, and how many pointers and numbers the launcher takes
KERNELS = {"product": (product, 3, 6), "convolution": (convolution, 3, 23)}
