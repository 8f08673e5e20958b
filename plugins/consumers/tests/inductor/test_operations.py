"""What torch is handed: fields in the order of the template parameters, values that its sources declare."""

from dataclasses import fields

import pytest

from ckprof.errors import InputError
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor.lists import KIND, convolutions_of, library_lists
from ckprof_plugins.consumers.inductor.operations import (
    CKBatchedGemmOperation,
    CKGroupedConvFwdOp,
    operation_of,
)
from ckprof_plugins.extract.classes import class_records
from plugins.consumers.tests.inductor.library_tree import write_tree

LINE = (
    "2,NHWGC,GKYXC,EmptyTuple,NHWGK,bf16,bf16,fp32,bf16,EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,"
    "Default,MNKPadding,256,128,64,32,8,4,32,16,2,1,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,8,8,true,Seq(4,64,1),"
    "Seq(1,0,2),Seq(1,0,2),2,8,8,false,1,1,Seq(1,32,1,8),8,Interwave,v1,bf16,bf16,false,1"
)


def arguments(line):
    parts = line.replace("Seq(", "\0").split(",")
    joined = []
    for part in parts:
        if joined and joined[-1].startswith("\0") and not joined[-1].endswith(")"):
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return [part.replace("\0", "Seq(") for part in joined]


def plain(name):
    return name.replace("_", "").lower()


def test_fields_stand_in_the_order_of_the_template_parameters():
    parameters = [entry.partition(":")[0].partition("|")[0] for entry in class_records()[KIND].fields]
    names = [column.name for column in fields(CKGroupedConvFwdOp)]
    sizes = [name for name in parameters if name.endswith(("Block", "XDL", "Wave", "Size"))]
    positions = {plain(name): at for at, name in enumerate(names)}
    known = [(parameters.index(name), positions[plain(name)]) for name in sizes if plain(name) in positions]
    assert len(known) >= 6
    assert all(at == position for at, position in known)


def test_a_line_becomes_an_operation_with_torchs_words():
    operation = operation_of(KIND, arguments(LINE))
    assert isinstance(operation, CKGroupedConvFwdOp)
    assert (operation.a_layout, operation.a_element_dtype, operation.acc_dtype) == ("NHWGC", "BF16", "F32")
    assert operation.ds_layout == () == operation.ds_element_dtype
    assert operation.conv_forward_specialization == "ConvolutionForwardSpecialization::Default"
    assert operation.gemm_specialization == "GemmSpecialization::MNKPadding"
    assert (operation.ak1, operation.bk1, operation.m_per_xdl, operation.n_per_xdl) == (8, 4, 32, 16)
    assert (operation.a_block_lds_extra_m, operation.b_block_lds_extra_n) == (1, 0)
    assert operation.cde_block_transfer_cluster_lengths_m_block_m_per_block_n_block_n_per_block == (
        1,
        32,
        1,
        8,
    )
    assert operation.block_gemm_pipeline_scheduler == "BlockGemmPipelineScheduler::Interwave"
    assert (operation.b_compute_dtype, operation.direct_load) == ("BF16", None)
    direct = operation_of(KIND, arguments(LINE.removesuffix("false,1") + "true,1"))
    # what torch writes into C++
    assert direct.direct_load == "true" and direct.name() != operation.name()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE.removesuffix("1") + "8", "further argument 8"),
        (LINE + ",2", "further argument 2"),
        (LINE.partition(",Interwave")[0], "44 arguments, expected 46"),
    ],
)
def test_what_an_operation_cannot_say_is_refused(line, message):
    with pytest.raises(InputError, match=message):
        operation_of(KIND, arguments(line))


def test_lists_that_ship_give_operations_with_names_of_their_own():
    found, _ = convolutions_of(kernel_lists(["forward/profiler"]))
    names = {operation.name() for operation, _, _ in found}
    assert len(names) == len(found) == 636
    # both half types have direct loads
    assert sum(operation.direct_load == "true" for operation, _, _ in found) == 48


def test_a_library_has_what_its_sources_use(tmp_path):
    library = write_tree(tmp_path) / "library"
    found, _ = library_lists(library, "DeviceGemm_Xdl_CShuffleV3")
    kept = [(one.m_per_block, one.gemm_specialization.partition("::")[2]) for one in found]
    # neither the one in a comment nor that of a tuple which nobody uses
    assert sorted(kept) == [(128, "Default"), (128, "MNPadding"), (256, "Default"), (256, "MNPadding")]
    assert {one.block_gemm_pipeline_scheduler for one in found} == {"BlockGemmPipelineScheduler::Intrawave"}
    (batched,) = library_lists(library, "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3")[0]
    assert isinstance(batched, CKBatchedGemmOperation)
    assert (batched.ds_layouts, batched.c_layout) == ((), "Row")
    for one in (batched, *found):
        # far behind in the order of the template parameters
        assert one.c_shuffle_block_transfer_scalar_per_vector_n_per_block == 8
        assert one.block_gemm_pipeline_version[:-1] == "BlockGemmPipelineVersion::v"
        assert (one.acc_dtype, one.a_compute_dtype) == ("F32", None)


def test_a_folder_without_lists_is_named(tmp_path):
    with pytest.raises(InputError, match="no such folder of lists"):
        library_lists(tmp_path, KIND)
