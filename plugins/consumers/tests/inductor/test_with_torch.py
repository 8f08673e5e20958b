"""torch's own templates with ckprof's kernels: ``pytest -m torch``, where torch is installed."""

import pytest

from ckprof_plugins.consumers.inductor.activation import activate
from plugins.consumers.tests.inductor.library_tree import write_tree

pytestmark = [
    pytest.mark.torch,
    # torch's own, of which versions have some and others none
    pytest.mark.filterwarnings("ignore"),
]
torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'ckprof[inductor]'")


@pytest.fixture(scope="module")
def activated(tmp_path_factory):
    done = activate(headers=write_tree(tmp_path_factory.mktemp("tree")), arch="gfx942")
    yield done
    done.undo()


@pytest.fixture
def graph(activated):
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    empty = torch.fx.Graph()
    empty.output(None)
    with V.set_graph_handler(GraphLowering(torch.fx.GraphModule(torch.nn.Module(), empty))):
        yield


def layout(size, stride, dtype):
    from torch._inductor import ir

    return ir.FixedLayout(torch.device("cpu"), dtype, size, stride)


def tensor(name, size, stride, dtype):
    from torch._inductor import ir

    return ir.InputBuffer(name=name, layout=layout(size, stride, dtype))


def convolution(groups=1, dtype=None):
    from torch._inductor.codegen.rocm.ck_conv_template import CKGroupedConvFwdTemplate

    dtype = dtype or torch.bfloat16
    x = tensor("x", [32, 64, 28, 28], [50176, 1, 1792, 64], dtype)
    channels = 64 // groups
    w = tensor("w", [128, channels, 3, 3], [9 * channels, 1, 3 * channels, channels], dtype)
    return CKGroupedConvFwdTemplate(
        [x, w],
        layout([32, 128, 28, 28], [100352, 1, 3584, 128], dtype),
        stride=(1, 1),
        padding=(1, 1),
        dilation=(1, 1),
        groups=groups,
        n_spatial_dimensions=2,
    )


def product(batch=None):
    from torch._inductor.codegen.rocm.ck_universal_gemm_template import CKGemmTemplate

    lead, strides = ([], []) if batch is None else ([batch], [1 << 20])
    a = tensor("a", [*lead, 256, 512], [*strides, 512, 1], torch.float16)
    b = tensor("b", [*lead, 512, 1024], [*strides, 1, 512], torch.float16)
    result = layout([*lead, 256, 1024], [*strides, 1024, 1], torch.float16)
    return CKGemmTemplate([a, b], result, alpha=1, beta=0)


@pytest.mark.parametrize("most", [1, 4])
def test_torch_generates_convolutions_from_the_best_kernels(activated, graph, most):
    from torch._inductor import config

    with config.patch({"rocm.ck_max_profiling_configs": most}):
        chosen = convolution().gen_ops()
    # torch draws, but there is nothing else to draw from
    with config.patch({"rocm.ck_max_profiling_configs": None}):
        every = convolution().gen_ops()
    assert len(chosen) == most < len(every)
    assert {one.name() for one in chosen} == {one.name() for one in every[:most]}
    definition, use = convolution().emit_ck_instance(chosen[0])
    assert "/* a_element_dtype */ BF16" in definition and chosen[0].name() in use
    assert f"/* m_per_block */ {chosen[0].m_per_block}" in definition


def test_groups_get_no_kernel_as_long_as_torch_passes_wrong_sizes(activated, graph):
    template = convolution(groups=2)
    told = template.size_args()
    # kernels take channels per group
    wrong = (told[2], told[3]) != (64, 32)
    assert (template.gen_ops() == []) is wrong


def test_torch_generates_products(activated, graph):
    operations = product().gen_ops()
    # 256 x 1024: tiles of 128x128 and 256x128 divide it, with and without padding
    assert (
        sorted((one.op.m_per_block, one.op.n_per_block) for one in operations)
        == [(128, 128)] * 2 + [(256, 128)] * 2
    )
    assert {one.kBatch for one in operations} == {1}
    (batched,) = product(batch=4).gen_ops()
    assert batched.op.name().startswith("ck_device_batched_gemm")
    definition, _ = product(batch=4).emit_ck_instance(batched.op)
    assert "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3<" in definition


def test_torch_finds_the_headers(activated):
    from torch._inductor.utils import try_import_ck_lib

    folder, library, preselected, operation = try_import_ck_lib()
    assert folder == str(activated.provider.headers)
    assert library() == preselected() and isinstance(library()[0], operation)
