"""Descriptions beside what compilers write into code objects."""

from dataclasses import replace

import pytest

from ckprof.errors import InputError
from ckprof_plugins.code_objects.description import (
    Cleared,
    LaunchDescription,
    Pointer,
    Scalar,
    Struct,
    check,
)
from ckprof_plugins.code_objects.sizes import PRODUCT


def argument(offset, size, kind="by_value"):
    return {".offset": offset, ".size": size, ".value_kind": kind}


RECORD = {
    ".name": "product",
    ".max_flat_workgroup_size": 256,
    ".args": [
        argument(0, 8, "global_buffer"),
        argument(8, 4),
        argument(16, 24),
        argument(40, 8),
        argument(48, 4, "hidden_block_count_x"),
    ],
}
MEMBERS = ((0, Pointer("b")), (8, Scalar("i32", "N")), (16, Scalar("i64", "stride_b")))
RIGHT = LaunchDescription(
    kernel="product",
    arguments=(Pointer("a"), Scalar("i32", "M * K"), Struct(24, MEMBERS), Pointer("e", "2 * N")),
    grid=("ceil_div(M, 16)", "N"),
    block=(64, 4),
)


def test_arguments_lie_where_the_code_object_says():
    checked = check(RIGHT, [{".name": "other"}, RECORD], PRODUCT, "k.co")
    assert [(one.offset, one.value) for one in checked.placed] == [
        (0, Pointer("a")),
        (8, Scalar("i32", "M * K")),
        (16, Pointer("b")),
        (24, Scalar("i32", "N")),
        (32, Scalar("i64", "stride_b")),
        (40, Pointer("e", "2 * N")),
    ]
    # hidden arguments are the runtime's
    assert checked.argument_bytes == 48


def with_argument(place, one):
    return replace(RIGHT, arguments=(*RIGHT.arguments[:place], one, *RIGHT.arguments[place + 1 :]))


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (replace(RIGHT, kernel="k"), "k.co: there is no kernel 'k' in it; it has product"),
        (replace(RIGHT, arguments=RIGHT.arguments[:3]), "takes 4 arguments, its description has 3"),
        (
            with_argument(0, Scalar("i64", "M")),
            "argument 1 of product is a value in its description, and global_buffer",
        ),
        (
            with_argument(1, Pointer("a")),
            "argument 2 of product is a pointer in its description, and by_value of 4 bytes",
        ),
        (
            with_argument(1, Scalar("i64", "M")),
            "argument 2 of product has 8 bytes in its description, and 4 in its code",
        ),
        (
            with_argument(1, Scalar("i33", "M")),
            "argument 2 of product: there is no type 'i33', expected one of i8, i16",
        ),
        (with_argument(1, Scalar("i32", "M *")), "formula 'M \\*', column"),
        (
            with_argument(2, Struct(20, MEMBERS)),
            "argument 3 of product has 20 bytes in its description, and 24",
        ),
        (
            with_argument(2, Struct(24, (*MEMBERS[:1], (4, Scalar("i32", "N"))))),
            "argument 3 of product, offset 4: it overlaps what is before it",
        ),
        (with_argument(2, Struct(24, ((20, Scalar("i64", "N")),))), "offset 20: it overlaps|ends behind"),
        (with_argument(3, Pointer("d")), "there is no tensor 'd', expected one of a, b, e, workspace"),
        (replace(RIGHT, cleared=(Cleared("f", 4),)), "k.co: there is no tensor 'f'"),
        (replace(RIGHT, block=(512,)), "a block of 512 work-items; kernel product takes 1 to 256"),
        (replace(RIGHT, grid=()), "k.co: grid has 0 formulas, expected a tuple of 1 to 3 formulas"),
        (replace(RIGHT, grid="M"), "k.co: grid is a text, expected a tuple of 1 to 3 formulas"),
        (replace(RIGHT, grid=("M", "L")), "k.co: grid along y: formula 'L', column 1: there is no size 'L'"),
        (replace(RIGHT, workspace="L"), "k.co: workspace: formula 'L', column 1: there is no size 'L'"),
        (with_argument(1, Scalar("i32", "L")), "k.co: argument 2: formula 'L', column 1"),
        (with_argument(1, "L"), "k.co: argument 2 is 'L', expected Pointer, Scalar or Struct"),
        (
            replace(RIGHT, arguments=RIGHT.arguments[:2]),
            r"takes 4 arguments, its description has 2; those of the code are .*24 bytes",
        ),
    ],
)
def test_what_does_not_fit_is_named(description, message):
    with pytest.raises(InputError, match=message):
        check(description, [RECORD], PRODUCT, "k.co")


def test_a_block_that_the_kernel_was_compiled_for():
    compiled = RECORD | {".reqd_workgroup_size": [64, 4, 1]}
    check(RIGHT, [compiled], PRODUCT, "k.co")
    with pytest.raises(
        InputError, match=r"a block of \[256, 1, 1\]; kernel product was compiled for \[64, 4, 1\]"
    ):
        check(replace(RIGHT, block=(256,)), [compiled], PRODUCT, "k.co")


@pytest.mark.parametrize(("grid", "splits"), [("M", False), ("M * split_k", True)])
def test_splits_count_where_a_formula_names_them(grid, splits):
    assert replace(RIGHT, grid=(grid,)).splits(PRODUCT.names) == splits
