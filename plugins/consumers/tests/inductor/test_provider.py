"""What the provider offers for a problem, without torch, and what is said of the lists that it reads."""

import logging
import sys
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, UsageError
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor import activation
from ckprof_plugins.consumers.inductor.lists import Inductor, convolutions_of
from ckprof_plugins.consumers.inductor.provider import Provider, choice_of
from ckprof_plugins.consumers.records import AuditRequest, Reason
from ckprof_plugins.directions._convolution.problem import ConvProblem
from plugins.consumers.tests.inductor.library_tree import product, write_tree

TYPES = {"half": "F16", "brain": "BF16", "single": "F32"}
DEFAULT = "ConvolutionForwardSpecialization::Default"


def node(size, dtype):
    layout = SimpleNamespace(size=size, dtype=dtype)
    return SimpleNamespace(get_layout=lambda: layout)


def convolution(groups=1, channels=64, dtype="brain", filter_=3, out=128):
    """Return what torch's template is to the provider: 32 images of 28x28."""
    sizes = (groups, 32, out, channels, filter_, filter_, 28, 28, 1, 1, 1, 1, 1, 1, 1, 1)
    return SimpleNamespace(
        n_spatial_dimensions=2,
        size_args=lambda: sizes,
        input_nodes=[
            node([32, channels, 28, 28], dtype),
            node([out, channels // groups, filter_, filter_], dtype),
        ],
        _TORCH_DTYPE_TO_CK=TYPES,
        filter_op=lambda one: one if one.conv_forward_specialization == DEFAULT else None,
    )


def config(most):
    return SimpleNamespace(rocm=SimpleNamespace(ck_max_profiling_configs=most))


@pytest.fixture
def provider(registry, tmp_path):
    return Provider(registry, headers=write_tree(tmp_path / "tree"), arch="gfx942")


def offered(provider, template, most):
    choice = choice_of(template, config(most))
    assert choice is not None
    with provider.choosing(choice):
        return provider.gen_conv_ops_library()


def test_without_a_problem_all_kernels_are_offered(provider):
    assert len(provider.gen_conv_ops_library()) == 636
    assert len(provider.gen_ops_library()) == len(provider.gen_ops_preselected()) == 4
    assert len(provider.gen_batched_ops_library()) == 1


@pytest.mark.parametrize("most", [1, 4, 8])
def test_of_a_problem_the_best_that_support_it_are_offered(provider, most):
    best = offered(provider, convolution(out=132), most)
    assert len(best) == most
    every = offered(provider, convolution(out=132), None)
    assert best == every[:most]
    problem = ConvProblem(
        groups=1,
        batch=32,
        out_channels=132,
        in_channels=64,
        filter=(3, 3),
        input=(28, 28),
        strides=(1, 1),
        dilations=(1, 1),
        left_pads=(1, 1),
        right_pads=(1, 1),
    )
    kernels = {
        operation.name(): kernel
        for operation, kernel, _ in convolutions_of(kernel_lists(["forward/profiler/nhwgc_bf16"]))[0]
    }
    supporting = {
        name
        for name, kernel in kernels.items()
        if DEFAULT.partition("::")[2] == kernel.specialization
        and not support(kernel, problem, "bf16", 1, "gfx942").unmet
    }
    # vectors of 8 do not divide 132 channels, those of 2 and 4 do
    assert {one.name() for one in every} == supporting
    assert not any(132 % one.cde_block_transfer_scalar_per_vector_n_per_block for one in every)
    # and all kernels of the class read vectors of 8
    assert offered(provider, convolution(channels=60), most) == []


def test_tiles_and_pipelines_come_once_before_they_come_again(provider):
    every = offered(provider, convolution(), None)
    kinds = [
        (one.m_per_block, one.n_per_block, one.k_per_block, one.block_gemm_pipeline_version) for one in every
    ]
    different = len(set(kinds))
    assert len(set(kinds[:different])) == different < len(kinds)


def test_sizes_that_torch_gets_wrong_lead_to_no_kernel(provider, caplog):
    with caplog.at_level(logging.WARNING):
        assert offered(provider, convolution(groups=2), 4) == []
    assert "a kernel would read beyond it" in caplog.text


def test_unknown_sizes_and_types_lead_to_all_kernels(provider):
    strange = convolution(dtype="brain")
    strange.size_args = lambda: ("s0",) * 16
    assert choice_of(strange, config(4)) is None
    unknown = convolution()
    unknown._TORCH_DTYPE_TO_CK = {}
    assert choice_of(unknown, config(4)) is None
    with provider.choosing(None):
        assert len(provider.gen_conv_ops_library()) == 636


def test_an_untrained_ranking_says_so_once(provider, caplog):
    with caplog.at_level(logging.WARNING):
        offered(provider, convolution(), 1)
        offered(provider, convolution(), 2)
    assert caplog.text.count("no time model of fwd bf16") == 1


def test_an_installation_without_sources_offers_no_products(registry, tmp_path, caplog):
    installed = Provider(registry, headers=tmp_path)
    assert installed.gen_ops_library() == installed.gen_ops_library() == []
    assert caplog.text.count("no kernel of DeviceGemm_Xdl_CShuffleV3 is offered") == 1
    assert len(installed.gen_conv_ops_library()) == 636


def test_wrong_lists_and_models_are_told_at_once(registry, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Provider(registry, headers=tmp_path, lists=("none.conf",))
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(InputError, match=r"model\.json"):
        Provider(registry, headers=tmp_path, models=(tmp_path / "model.json",))


def test_modules_are_put_in_place_and_taken_away(provider):
    names = activation.modules_of(provider)
    done = activation.Activation(provider=provider)
    activation._install(done, names)
    try:
        from ck4inductor.batched_universal_gemm.gen_instances import gen_ops_library as batched
        from ck4inductor.grouped_conv_fwd.gen_instances import gen_conv_ops_library
        from ck4inductor.grouped_conv_fwd.op import CKGroupedConvFwdOp
        from ck4inductor.universal_gemm.gen_instances import gen_ops_library
        from ck4inductor.util import library_path

        assert isinstance(gen_conv_ops_library()[0], CKGroupedConvFwdOp)
        assert (len(gen_ops_library()), len(batched())) == (4, 1)
        assert library_path() == str(provider.headers / "library")
        assert sys.modules["ck4inductor"].__file__ == str(provider.headers / "__init__.py")
    finally:
        done.undo()
    assert not [name for name in sys.modules if name.startswith("ck4inductor")]


def test_headers_are_looked_for(tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("CK_ROOT", raising=False)
    with pytest.raises(InputError, match="no headers of Composable Kernel are known"):
        activation.headers_root(None)
    with pytest.raises(InputError, match=r"has no include/ck/ck\.hpp"):
        activation.headers_root(tmp_path)
    root = write_tree(tmp_path / "tree")
    monkeypatch.setenv("CK_ROOT", str(root))
    assert activation.headers_root(None) == root
    assert "which CMake writes" in caplog.text


def test_templates_that_torch_has_imported_are_too_late(tmp_path, monkeypatch):
    monkeypatch.setattr(activation.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "torch._inductor.codegen.rocm.ck_conv_template", object())
    with pytest.raises(UsageError, match="before the first compilation"):
        activation.activate(headers=tmp_path)


CONVOLUTION = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<NDimSpatial,ALayout,BLayout, DsLayout,ELayout, BF16, "
    "BF16, F32, BF16, DsDataTypes, BF16, PassThrough, PassThrough, OutElementOp, ConvSpec, GemmMNKPadding, "
    "256, 128, 128, 64, 8, 8, 32, 32, 2, 2, S<8, 32, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 0, "
    "S<8, 32, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 0, 1, 1, S<1, 32, 1, 8>, 8, "
    "BlockGemmPipelineScheduler::Intrawave, BlockGemmPipelineVersion::v4>"
)
PRODUCT = product((128, 128, 64), "v3")
FAULTS = [
    (f"// {PRODUCT}", Reason.UNKNOWN_KERNEL, "comment"),
    (PRODUCT[: len(PRODUCT) // 2], Reason.MALFORMED_ROW, "do not end"),
    (PRODUCT.replace(", 256,", ",", 1), Reason.MALFORMED_VALUE, "41 arguments"),
    (PRODUCT[:-1] + ", F16, F16, true>", Reason.MALFORMED_VALUE, "45 arguments"),
    (PRODUCT.replace("F16, F16, F16,", "I8, I8, I8,", 1), Reason.NEVER_HIT, "operands of int8"),
    (product((128, 128, 64), "v3", scheduler="Intrawave"), Reason.MALFORMED_VALUE, "scheduler is Intrawave"),
    (PRODUCT.replace("PassThrough", "Relu", 1), Reason.MALFORMED_VALUE, "a_elementwise_op is Relu"),
    (CONVOLUTION.replace(" 64,", " 48,", 1), Reason.UNKNOWN_KERNEL, "no list has"),
    (CONVOLUTION[:-1] + ", BF16, BF16, true, 8>", Reason.MALFORMED_VALUE, "50 arguments"),
]


@pytest.fixture(scope="module")
def lists():
    return kernel_lists(["forward/profiler/nhwgc_bf16"])


def audited(path, lists, *elements):
    path.write_text("using list = std::tuple<\n" + ",\n".join(elements) + "\n>;\n")
    assert Inductor().owns(path, path.read_bytes()) or not elements
    return Inductor().audit(AuditRequest(path=path, lists=lists))


def test_sound_kernels_pass(tmp_path, lists):
    found = audited(tmp_path / "a.hpp", lists, CONVOLUTION, PRODUCT)
    assert not found.findings
    direct = audited(tmp_path / "b.hpp", lists, CONVOLUTION[:-1] + ", BF16, BF16, true>")
    known = any(
        ",256,128,128,64,8,8,32,32,2,2," in line and line.endswith("v4,bf16,bf16,true,1>")
        for _, line in lists[0].lines
    )
    assert (not direct.findings) is known
    assert (found.entries, sum(found.judged.values())) == (2, 2)


@pytest.mark.parametrize(("element", "reason", "part"), FAULTS)
def test_a_fault_is_named_and_leaves(tmp_path, lists, element, reason, part):
    path = tmp_path / "a.hpp"
    found = audited(path, lists, PRODUCT, element)
    (finding,) = found.findings
    assert (finding.reason, finding.line) == (reason, 3)
    assert part in finding.message
    path.write_bytes(Inductor().cleaned(found))
    assert not Inductor().audit(AuditRequest(path=path, lists=lists)).findings
    # of the last element, the comma in front leaves as well; a comment had none to begin with
    assert path.read_text().count(">,\n") == (element.startswith("//"))


def test_other_headers_are_not_inductors(tmp_path):
    assert not Inductor().owns(tmp_path / "a.hpp", b"#include <vector>\n")
    assert not Inductor().owns(tmp_path / "a.txt", PRODUCT.encode())
