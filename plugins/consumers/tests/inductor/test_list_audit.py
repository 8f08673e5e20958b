"""Lists of kernels as ck4inductor reads them: sound ones pass, each fault is named, and can be removed."""

import pytest

from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor.lists import Inductor
from ckprof_plugins.consumers.records import AuditRequest, Reason
from plugins.consumers.tests.inductor.library_tree import product

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
