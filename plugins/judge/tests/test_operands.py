"""What operands are varied to, and that their reference is that of the varied ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckprof.measure.verify.storage import decode
from ckprof.model.types import DataType
from ckprof_plugins.judge.operands import Operands, Place, Variation, prepared, untimed, variations

from .test_places import task_of

#: elements that differ at most from those without a variation, of the one operand that differs
MOST = {Variation.ONE: 1, Variation.SWAPPED: 2}


def _values(task, place, operands):
    with prepared(task, place, operands, untimed(10.0)) as given:
        stored = [decode(one.values[: one.values.size], DataType.FP32) for one in given.tensors[:-1]]
        return stored, np.asarray(given.reference[: given.reference.size])


@pytest.mark.parametrize("exact", [True, False])
def test_one_operand_is_varied_and_the_reference_with_it(registry, tmp_path, exact):
    task, usual = task_of(registry, "gemm")
    task = replace(task, types=task.operation.types(DataType.FP32), folder=tmp_path)
    place = Place(replace(usual, m=9, n=7, k=33))
    plain = Operands(exact, 5)
    (a, b), _ = _values(task, place, plain)
    for variation in variations(task, place.problem, exact=exact):
        for number in (4, 5):
            varied = replace(plain, variation=variation, number=number)
            found, reference = _values(task, place, varied)
            assert varied.text.endswith(variation.value)
            products = found[0].reshape(9, 33) @ found[1].reshape(7, 33).T
            assert np.allclose(reference.reshape(9, 7), products, rtol=1e-12)
            changed = [
                int((now.ravel() != then.ravel()).sum()) for now, then in zip(found, (a, b), strict=True)
            ]
            assert changed[1 - number % 2] == 0 and changed[number % 2] > 0
            assert changed[number % 2] <= MOST.get(variation, 10**9)
            again, _ = _values(task, place, varied)
            assert all(np.array_equal(one, two) for one, two in zip(found, again, strict=True))
            if variation in (Variation.SHUFFLED, Variation.MOVED, Variation.SWAPPED):
                which = number % 2
                assert np.array_equal(np.sort(found[which], None), np.sort((a, b)[which], None))


def test_only_a_sign_changes_exact_operands_and_scales_need_exponents(registry):
    task, usual = task_of(registry, "gemm")
    assert variations(task, usual, exact=True) == (Variation.ONE,)
    for dtype, has_scale, has_one in ((DataType.FP16, True, False), (DataType.INT8, False, True)):
        kinds = variations(replace(task, types=task.operation.types(dtype)), usual, exact=False)
        assert (Variation.SCALED in kinds, Variation.ONE in kinds) == (has_scale, has_one)
