"""What all directions share: references against the definition and against each other, forms, defaults."""

import numpy as np
import pytest
from convolution_cases import EDGES, cases, naive, operands
from hypothesis import given, settings

from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.layout import TENSORS, find_layout, tensor_shape

DIRECTIONS = {direction.id: direction for direction in shipped_directions()}

every_direction = pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)


@every_direction
@settings(deadline=None)
@given(case=cases())
def test_reference_equals_the_definition(direction, case):
    problem, layout = case
    tensors = operands(direction, problem, layout)
    result = direction.reference(problem, layout, tensors)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, naive(direction, problem, layout, tensors), rtol=1e-12, atol=1e-12)


@every_direction
@pytest.mark.parametrize("problem", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("layout", [find_layout("nhwgc"), find_layout("ngchw")], ids=lambda x: x.name)
def test_reference_at_the_edges(direction, problem, layout):
    tensors = operands(direction, problem, layout)
    np.testing.assert_allclose(
        direction.reference(problem, layout, tensors),
        naive(direction, problem, layout, tensors),
        **{"rtol": 1e-12, "atol": 1e-12},
    )


@settings(deadline=None)
@given(case=cases())
def test_the_gradients_are_adjoint_to_the_forward_direction(case):
    """<dY, conv(X, W)> = <bwd_data(dY, W), X> = <bwd_weight(dY, X), W>: convolution is linear in both."""
    problem, layout = case
    random = np.random.default_rng(1)
    tensors = {name: random.uniform(-1, 1, tensor_shape(problem, layout, name)) for name in TENSORS}
    products = []
    for direction in DIRECTIONS.values():
        *given_names, result = direction.tensors
        computed = direction.reference(problem, layout, {name: tensors[name] for name in given_names})
        products.append(np.vdot(computed, tensors[result]))
    np.testing.assert_allclose(products, products[0], rtol=1e-10, atol=1e-10)


@every_direction
@settings(deadline=None, max_examples=50)
@given(case=cases())
def test_reduction_length_bounds_what_is_added(direction, case):
    problem, layout = case
    ones = {name: np.ones(tensor_shape(problem, layout, name)) for name in direction.tensors[:2]}
    assert direction.reference(problem, layout, ones).max() <= direction.reduction_length(problem)


@every_direction
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_default_problems_are_modest(direction, ndim):
    problem = direction.default_problem[ndim]
    assert problem.ndim == ndim
    assert 150e6 < problem.flop < 400e6


@every_direction
def test_positional_form_counts_the_arguments_of_ckprofiler(direction):
    form = direction.positional_form
    for ndim in (1, 2, 3):
        # program, operation, leading, G N K C, six blocks per dimension, trailing
        assert 2 + len(form.leading) + 4 + 6 * ndim + len(form.trailing) == 14 + 6 * ndim
    assert form.leading[:2] == ("dtype", "layout")
    assert form.leading[-1] == "ndim"
    for further in direction.all_forms:
        assert {"dtype", "layout"} < set(further.leading) and further.leading[-1] == "ndim"
        for tags in further.layouts.values():
            assert [sorted(tag) for tag in tags.split("/")] == [
                sorted("NGCHW"), sorted("GKCYX"), sorted("NGKHW"),
            ]  # fmt: skip


@every_direction
def test_every_tensor_has_one_role(direction):
    assert sorted(direction.tensors) == sorted(TENSORS)


def test_nothing_is_shared_by_accident():
    directions = DIRECTIONS.values()
    assert [d.miopen_flag for d in directions] == [1, 2, 4]
    for values in (
        [name for d in directions for name in (d.id, *d.aliases)],
        [name for d in directions for form in d.all_forms for name in form.operations],
        [d.host_args_type for d in directions],
    ):
        assert len(set(values)) == len(values)
