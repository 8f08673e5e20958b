import errno
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ckprof.errors import PluginError, ToolchainError, UsageError
from ckprof.measure import prepare
from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker import messages
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import LAYOUTS as MATRIX_LAYOUTS
from ckprof_plugins.operations.gemm.problem import MultiDProblem, StridedBatchProblem
from tests.convolutions import convolution
from tests.faults import failing_with

from .device_checks import ON_DEVICE, SCALE
from .fakes import ScaleDirection, make_problem


def test_too_large_for_memory(run, monkeypatch):
    monkeypatch.setattr(prepare.psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    outcomes, _, direction = run(["ok", "ok"])
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED] * 2
    assert "of memory, 0.0 GiB are available" in outcomes[0].reason
    assert direction.references == 0


@pytest.mark.parametrize("name", ["save", "unnamed"])
def test_a_full_scratch_folder_ends_the_run_with_a_message(run, monkeypatch, name):
    where = prepare.np if name == "save" else prepare.StoredFile
    monkeypatch.setattr(where, name, failing_with(errno.ENOSPC))
    with pytest.raises(
        ToolchainError, match="operands cannot be written: No space left on device; free some"
    ):
        run(["ok"])


class MisshapenDirection(ScaleDirection):
    def reference(self, problem, layout, operands, types):
        return super().reference(problem, layout, operands, types).reshape(-1)


def test_broken_reference_is_the_plugins_error(run):
    with pytest.raises(PluginError, match=r"has shape \(192,\), expected \(3, 8, 8, 1, 1\)"):
        run(["ok"], direction=MisshapenDirection())


DIRECTIONS = {direction.id: direction for direction in shipped_directions()}
UNEVEN = convolution("2 2 5 3 2 3 2 5 4 2 1 1 1 1 0 0 1")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_reference_is_the_same_computed_image_by_image(direction, tmp_path, monkeypatch):
    layout = find_layout("nhwgc")
    assert layout is not None
    answers = []
    for images in (5, 2, 1):
        elements = (UNEVEN.input_elements + UNEVEN.output_elements) // UNEVEN.batch
        monkeypatch.setattr(prepare, "_PART_ELEMENTS", images * elements)
        prepared = prepare_problem(
            DIRECTIONS[direction], UNEVEN, layout, DataType.FP32, RunOptions(), tmp_path
        )
        answers.append((prepared.reference[0 : prepared.reference.size], prepared.sums.magnitude))
    for values, magnitude in answers[1:]:
        np.testing.assert_allclose(values, answers[0][0], rtol=1e-13, atol=1e-13)
        assert magnitude == pytest.approx(np.abs(values).max(), rel=1e-12)


def test_the_cpu_serves_where_the_device_cannot(tmp_path):
    layout = find_layout("nhwgc")

    def prepared(operation, problem, options, can_check=True):
        return prepare_problem(
            operation, problem, layout, DataType.FP32, options, tmp_path, can_check=can_check
        )

    assert prepared(Forward(), SCALE, RunOptions()).on_device
    assert not prepared(Forward(), SCALE, RunOptions(reference=ReferencePlace.HOST)).on_device
    assert not prepared(Forward(), SCALE, RunOptions(), can_check=False).on_device
    assert not prepared(ScaleDirection(), make_problem(), RunOptions()).on_device
    with pytest.raises(UsageError, match=r"--reference device: operation scale does not describe its sums"):
        prepared(ScaleDirection(), make_problem(), ON_DEVICE)
    with pytest.raises(UsageError, match="the target of the kernels does not verify on its device"):
        prepared(Forward(), SCALE, ON_DEVICE, can_check=False)


def test_a_reference_that_is_not_finite_is_reported(tmp_path):
    layout = find_layout("nhwgc")
    prepared = prepare_problem(Forward(), SCALE, layout, DataType.FP32, ON_DEVICE, tmp_path, can_check=True)
    for facts in ({"magnitude": None, "gaps": 0}, {"magnitude": 1.0, "gaps": 3}):
        made = messages.ReferenceFacts(squares=(1.0, 1.0), digests=(1, 2, 3), **facts)
        with pytest.raises(PluginError, match="the device's reference is not finite"):
            prepared.loaded(made)


def test_products_that_devices_cannot_be_told_of_are_verified_by_the_host(tmp_path):
    sizes = {"m": 4, "n": 5, "k": 6}
    with_d = MultiDProblem(**sizes, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0,))
    apart = StridedBatchProblem(**sizes, batch=3, batch_stride_b=40)
    for problem, said in ((with_d, "combined with d0"), (apart, "at distances of their own")):
        given = (Gemm(), problem, MATRIX_LAYOUTS[0], Gemm().types(DataType.FP16))
        with pytest.raises(UsageError, match=f"--reference device: .*{said}"):
            prepare_problem(*given, ON_DEVICE, tmp_path, can_check=True)
        anywhere = replace(ON_DEVICE, reference=ReferencePlace.AUTO)
        assert prepare_problem(*given, anywhere, tmp_path, can_check=True).reference is not None
