"""How figures, problems and kernels are written in tables."""

from types import SimpleNamespace

from ckprof.model.kernel import KernelRef
from ckprof.model.ranking import Order, Resolution
from ckprof.report.figures import (
    checked_text,
    display_name,
    name_column,
    number,
    number_column,
    problem_column,
    resolution_text,
    sizes_column,
)
from ckprof.report.short_names import ShortNames
from tests.kernel_names import kernel_name
from tests.report.conftest import PROBLEM


def test_numbers_have_four_digits_and_no_exponent_where_that_is_short():
    given = [0.0, 1.23456, 999.96, 999.9, 1000.0, 1234567.8, -2500.4, 0.000123456]
    assert [*map(number, given)] == [
        *("0", "1.235", "1000", "999.9", "1,000", "1,234,568", "-2,500", "0.0001235"),
    ]
    column = number_column("ms", lambda row: row, show=lambda value: f"{value:.1f}")
    assert [column.shown(row) for row in (1.26, 0.0, None)] == ["1.3", "0.0", ""]
    assert number_column("ms", lambda row: row).shown(1234.5) == "1,234"


def test_checked_launches_are_those_of_parts_that_know_them():
    def part(launches, checked):
        return SimpleNamespace(launches=launches, checked=checked)

    assert checked_text([]) == checked_text([part(0, 5)]) == ""
    assert checked_text([part(3, 1), part(0, 9), part(5, 1)]) == "2 of 8 launches (25 %)"
    assert checked_text([part(1, 1)]) == "1 of 1 launch (100 %)"


def test_a_standing_says_what_it_would_take_to_know():
    for order, rounds, text in (
        (Order.ALONE, None, "no other kernel has a time"),
        (Order.CLEAR, None, "significantly faster than all others"),
        (Order.TIE, None, "3 kernels may be the fastest; the first of them is as good as any"),
        (Order.OPEN, 12, "3 kernels may be the fastest; about 12 rounds would resolve it"),
        (Order.OPEN, 10**6, "3 kernels may be the fastest; more than 1000 rounds would be needed"),
        (Order.OPEN, None, "3 kernels may be the fastest; more passes would resolve it (--passes)"),
    ):
        assert resolution_text(Resolution(order=order, first=3, processes=1, rounds=rounds)) == text


def test_kernels_are_called_by_name_string_or_key_and_splits():
    def row(name, string, split_k):
        kernel = KernelRef(name=name, instance_string=string)
        return SimpleNamespace(
            kernel=kernel, key=SimpleNamespace(split_k=split_k, instance="0123456789abcdef")
        )

    assert display_name(row("kernel", "Kernel<1>", 1)) == "kernel"
    assert display_name(row("", "Kernel<1>", 4)) == "Kernel<1> (split-K 4)"
    assert display_name(row("", "", -1)) == "0123456789ab (split-K -1)"


def test_problems_are_short_and_whole_ones_hints_or_where_there_is_room():
    short, whole = PROBLEM.brief(), PROBLEM.describe()
    assert len(short) < len(whole)
    column = problem_column(lambda row: row)
    assert (column.shown(PROBLEM), column.hint(PROBLEM)) == (short, whole)
    column = sizes_column(lambda row: row)
    assert (column.shown(PROBLEM), column.short(PROBLEM)) == (whole, short)


def test_names_are_shortened_alike_in_cells_and_whole_in_hints():
    names = [kernel_name("grouped_conv_fwd", word) for word in "ab"]
    column = name_column("kernel", lambda row: row, ShortNames(names))
    assert [column.shown(name) for name in names] == [column.names(name) for name in names] == ["a", "b"]
    assert column.hint(names[0]) == column.value(names[0]) == names[0]
