"""CPU time of what torch calls (oneDNN) on one convolution, in one thread.

Run as a program by an interpreter that has torch, with the arguments of ``cpu_kernels.cpp``: for every line
of the standard input, the convolution runs once, and the best rate since the start is printed in GFLOP/s.
"""

import sys
import time


def computation(direction, dtype, sizes):
    """Return what computes the convolution, channels last, and its floating-point operations."""
    import torch

    n, c, k, size, taps, stride = sizes
    out = (size + 2 * (taps // 2) - taps) // stride + 1
    element = {"fp32": torch.float32, "bf16": torch.bfloat16}[dtype]

    def tensor(*shape):
        values = torch.rand(shape).mul_(2).sub_(1).to(element)
        return values.contiguous(memory_format=torch.channels_last)

    x, w, y = tensor(n, c, size, size), tensor(k, c, taps, taps), tensor(n, k, out, out)
    geometry = ([stride] * 2, [taps // 2] * 2, [1, 1], False, [0, 0], 1)

    def compute():
        if direction == "fwd":
            torch.ops.aten.convolution(x, w, None, *geometry)
        else:
            wanted = [direction == "bwd_data", direction == "bwd_weight", False]
            torch.ops.aten.convolution_backward(y, x, w, None, *geometry, wanted)

    torch.set_num_threads(1)
    return compute, 2 * n * c * k * taps * taps * out * out


def main():
    """Measure until the standard input ends."""
    direction, dtype, *sizes = sys.argv[1:]
    compute, operations = computation(direction, dtype, [int(size) for size in sizes])
    best = float("inf")
    for _ in sys.stdin:
        start = time.thread_time()
        compute()
        best = min(best, time.thread_time() - start)
        print(f"{operations / best * 1e-9:.3f}", flush=True)


if __name__ == "__main__":
    main()
