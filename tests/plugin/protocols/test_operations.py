"""What operations do that say nothing of their own: the protocol's defaults, reached through a registry."""

import math

import pytest

from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof.testing.plugins import Registering
from tests.plugin.stubs import StubOperation, StubProblem, registry_of

PROBLEM = StubProblem(length=12)
OPTIONAL = (
    *("tensors_of", "deviation", "roundings", "is_exact", "random_problem", "contraction"),
    *("line_forms", "problem_line", "programs", "is_command", "is_table", "read_table"),
    *("sample_options", "sample"),
)


class Bare:
    """An operation with what every one must have."""

    def __init__(self):
        whole = StubOperation()
        names = [name for name in dir(whole) if not name.startswith("_") and name not in OPTIONAL]
        self.__dict__.update({name: getattr(whole, name) for name in names})


@pytest.fixture(scope="module")
def bare():
    (operation,) = registry_of(one=Registering(Bare())).operations
    return operation


def test_an_operation_has_the_tensors_that_it_names(bare):
    assert bare.tensors_of(PROBLEM) == bare.tensors == ("x", "y", "z")
    assert (bare.roundings(PROBLEM), bare.is_exact(PROBLEM)) == (1, True)
    assert bare.multiplied(PROBLEM, {}, None) == {} and bare.tolerance(PROBLEM, None, 1.0) is None


def test_results_are_sums_of_products(bare):
    """Of independent operands: variances of products add up."""
    assert bare.deviation(PROBLEM, {"x": 4.0, "y": 0.25}) == pytest.approx(math.sqrt(12 * 4 * 0.25))
    assert bare.deviation(PROBLEM, {}) == pytest.approx(math.sqrt(12))


def test_nothing_is_read_or_written_that_it_does_not_know(bare):
    assert (bare.line_forms, bare.programs) == ((), ())
    assert not bare.is_command("conv", "x") and not bare.is_table([])
    for name in ("contraction", "product", "random_problem"):
        assert not offers(bare, getattr(Operation, name)), name
    assert offers(StubOperation(), Operation.random_problem)
