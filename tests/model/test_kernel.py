"""What kernels are called, and what is said of several that are one."""

from dataclasses import fields

from ckprof.model.kernel import KernelRef, SameKernels, SelectedKernel, Substitution
from ckprof.model.types import ComputeType, DataType, TypeSet


def test_a_lasting_name_has_the_key_in_any_case():
    key = "0123456789abcdef"
    for name, splits, lasting in (
        ("kernel", 1, "kernel 01234567"),
        # the name was taken
        ("kernel_01234567", 1, "kernel 01234567"),
        ("kernel", 4, "kernel 01234567 (split-K 4)"),
        ("kernel", -1, "kernel 01234567 (split-K -1)"),
    ):
        assert KernelRef(name=name, key=key).lasting_name(splits) == lasting
    assert KernelRef(name="kernel").lasting_name(2) == "kernel (split-K 2)"


def test_a_store_keeps_what_every_kernel_has():
    types = TypeSet(
        operands=(DataType.FP32,) * 2, acc=DataType.FP32, result=DataType.FP32, compute_type=ComputeType.TF32
    )
    common = {
        "key": "k",
        "name": "n",
        "instance_string": "s",
        "layout": "l",
        "source": "a:1",
        "fields": {"m": 1},
    }
    kernel = SelectedKernel(**common, dtype=DataType.FP32, ndim=2, types=types, index=3)
    assert kernel.compute_type is ComputeType.TF32
    assert kernel.ref == KernelRef(**common, dtype=DataType.FP32)
    assert type(kernel.ref) is KernelRef and len(fields(kernel.ref)) == 9


def test_kernels_that_are_the_same_are_named_with_their_reasons():
    same = SameKernels(instances=(0, 3), fields=("tile_k", "version"), reasons=("one", "two"))
    assert same.describe() == (
        "instances 0, 3 are the same kernel here: they differ only in tile_k, version (one; two)"
    )


def test_instances_whose_place_another_kernel_takes_are_named_in_runs():
    other = Substitution(problem_index=0, kernel="a special one", instances=(0, 1, 2, 4, 7, 8))
    rest = ": this problem is computed by a special one here, whatever the fields of instances are"
    for asked, named in (
        (range(9), "instances 0-2, 4, 7-8"),
        ({4}, "instance 4"),
        ({1, 2, 3}, "instances 1-2"),
        ({0, 2}, "instances 0, 2"),
    ):
        assert other.describe(asked) == named + rest
