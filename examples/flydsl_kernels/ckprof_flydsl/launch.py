"""How the kernels are launched, and what they support."""

from __future__ import annotations

from ckprof_plugins.code_objects.description import Condition, LaunchDescription, Pointer, Scalar

#: work-items of a workgroup, see :mod:`ckprof_flydsl.kernels`
THREADS = 256
_AXES = "dhw"
#: offsets of elements are numbers of 32 bits, those of rows of a last tile included
_MOST = 2**31
_ROWS = 2**31 - 2**16


def _axes(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}_{axis}" for name in names for axis in _AXES)


def convolution(tile_m: int, tile_n: int, vector_size: int) -> LaunchDescription:
    """Return the launch of a forward convolution."""
    numbers = (
        "N * out_d * out_h * out_w",
        *("K", "C"),
        "filter_d * filter_h * filter_w * C",
        "G",
        *_axes("in", "out", "filter", "stride", "dilation", "pad"),
    )
    tensors = {
        "input": "N * in_d * in_h * in_w * G * C",
        "weight": "G * K * filter_d * filter_h * filter_w * C",
        "output": "N * out_d * out_h * out_w * G * K",
    }
    return LaunchDescription(
        kernel="convolution",
        arguments=(
            *(Pointer(role) for role in tensors),
            *(Scalar("i32", number) for number in numbers),
        ),
        grid=(f"ceil_div({numbers[0]}, {tile_m})", f"ceil_div(K, {tile_n})", "G"),
        block=(THREADS,),
        conditions=(
            Condition(
                "channels", f"C % {vector_size} == 0", f"C is a multiple of the vectors of {vector_size}"
            ),
            Condition("positions", f"{numbers[0]} < {_ROWS}", "rows are numbers of 32 bits"),
            *(
                Condition(role, f"{size} < {_MOST}", f"elements of the {role} have offsets of 32 bits")
                for role, size in tensors.items()
            ),
        ),
    )


def product(tile_m: int, tile_n: int, vector_size: int) -> LaunchDescription:
    """Return the launch of a matrix product, of which A and B lie along K."""
    vectors = f"a multiple of the vectors of {vector_size}"
    extents = {"a": "M * stride_a", "b": "N * stride_b", "e": "M * stride_e"}
    return LaunchDescription(
        kernel="product",
        arguments=(
            *map(Pointer, extents),
            *(Scalar("i32", number) for number in ("M", "N", "K", "stride_a", "stride_b", "stride_e")),
        ),
        grid=(f"ceil_div(M, {tile_m})", f"ceil_div(N, {tile_n})"),
        block=(THREADS,),
        conditions=(
            Condition("k", f"K % {vector_size} == 0", f"K is {vectors}"),
            *(
                Condition(name.replace("_", "-"), f"{name} % {vector_size} == 0", f"{name} is {vectors}")
                for name in ("stride_a", "stride_b")
            ),
            *(
                Condition(role, f"{size} < {_ROWS}", f"elements of {role.upper()} have offsets of 32 bits")
                for role, size in extents.items()
            ),
        ),
    )
