import ctypes
import re
import subprocess

import pytest

from ckprof.measure.worker import abi
from ckprof.measure.worker.abi import (
    ABI_VERSION,
    AbiStatus,
    CDevice,
    CKernel,
    CLibrary,
    CPlan,
    CProblem,
    CTarget,
    Kernel,
    Library,
    LibraryError,
    Support,
)
from ckprof.model.requirement import UnmetRequirement

from ..fakes import ABI_FOLDER, find_compiler, make_problem

#: C name -> mirror
MIRRORS = {
    "ckprof_problem": CProblem,
    "ckprof_plan": CPlan,
    "ckprof_kernel": CKernel,
    "ckprof_device": CDevice,
    "ckprof_target": CTarget,
    "ckprof_library": CLibrary,
}
HEADER = ABI_FOLDER / "ckprof_abi.h"


@pytest.mark.compiler
def test_mirrors_have_the_sizes_and_offsets_of_the_header(tmp_path):
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    lines = []
    expected = {}
    for name, mirror in MIRRORS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected[name] = ctypes.sizeof(mirror)
        for field, *_ in mirror._fields_:
            member = f"{name}.{field}"
            lines.append(
                f'printf("{member} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));'
            )
            descriptor = getattr(mirror, field)
            expected[member] = (descriptor.offset, descriptor.size)
    lines.append('printf("status %zu\\n", sizeof(ckprof_status));')
    expected["status"] = ctypes.sizeof(ctypes.c_int)
    source = tmp_path / "sizes.cpp"
    source.write_text(
        '#include "ckprof_abi.h"\n#include <stdio.h>\nint main(void) {\n' + "\n".join(lines) + "\n}\n"
    )
    program = tmp_path / "sizes"
    subprocess.run([compiler, f"-I{ABI_FOLDER}", str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in printed.splitlines():
        name, *numbers = line.split()
        found[name] = tuple(map(int, numbers)) if len(numbers) > 1 else int(numbers[0])
    assert found == expected


def test_mirrors_have_every_field_of_the_header_in_order():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    # convolutions have names for what all operations have by position
    text = re.sub(r"__extension__ struct\s*\{.*?\};", "", text, flags=re.S)
    text = re.sub(r"__extension__ union\s*\{(.*?)\};", r"\1", text, flags=re.S)
    structs = re.findall(r"typedef struct \w+\s*\{(.*?)\n\} (\w+);", text, flags=re.S)
    assert {name for _, name in structs} == {*MIRRORS, "ckprof_buffers"}
    for body, name in structs:
        if name == "ckprof_buffers":
            assert [line.strip() for line in body.split(";") if line.strip()] == [
                "void* input",
                "void* weight",
                "void* output",
            ]
            continue
        fields = []
        for statement in filter(None, map(str.strip, body.split(";"))):
            function = re.search(r"\(\*(\w+)\)\(", statement)
            plain = re.search(r"(\w+)(\[\w+\])?$", statement)
            assert plain is not None or function is not None
            fields.append(function[1] if function else plain[1])
        assert fields == [field for field, *_ in MIRRORS[name]._fields_], name
    assert f"#define CKPROF_ABI_VERSION {ABI_VERSION}\n" in HEADER.read_text()


def test_statuses_are_those_of_the_header():
    found = re.findall(r"CKPROF_(OK|REJECTED|FAILED)\s*= (\d)", HEADER.read_text())
    assert {name: int(value) for name, value in found} == {member.name: member.value for member in AbiStatus}


def test_problem_fills_the_leading_entries():
    problem = CProblem.of(make_problem(size=8, ndim=2, batch=3), split_k=4)
    assert (problem.ndim, problem.split_k) == (2, 4)
    filters, images = [1, 1, 0], [8, 8, 0]
    assert list(problem.values[:10]) == [1, 3, 1, 1, *filters, *images]


@pytest.mark.compiler
def test_loads_kernels_by_key(library):
    loaded = Library.load(library)
    assert loaded.target.id == "fake"
    kernel = loaded.kernels["ok"]
    assert isinstance(kernel, Kernel) and kernel.name == "fake_ok"
    assert kernel.instance_string() == (AbiStatus.OK, "FakeKernel<0>")
    assert kernel.is_supported(CProblem.of(make_problem(), -1)) == Support(status=AbiStatus.OK, split_k=7)
    rejected = loaded.kernels["unsupported"].is_supported(CProblem.of(make_problem(), 1))
    assert rejected.status is AbiStatus.REJECTED
    assert rejected.unmet_requirements == (
        UnmetRequirement(rule="vector-a", message="C is not a multiple of 8"),
        UnmetRequirement(rule="specialization", message="filter height = 3, not 1"),
    )
    assert loaded.target.available_bytes() == 2 << 30


@pytest.mark.compiler
def test_target_rejects_an_unknown_device(library):
    target = Library.load(library).target
    target.select_device("fake0", 0)
    with pytest.raises(LibraryError, match="cannot use device 3 as fake0: there is no device 3"):
        target.select_device("fake0", 3)


@pytest.mark.compiler
def test_out_of_memory(library):
    with pytest.raises(MemoryError, match="cannot allocate"):
        Library.load(library).target.allocate(1 << 40)


@pytest.mark.compiler
def test_other_interface_version(library, monkeypatch):
    monkeypatch.setattr(abi, "ABI_VERSION", 99)
    with pytest.raises(LibraryError, match=f"version {ABI_VERSION}, this ckprof uses 99: build it again"):
        Library.load(library)


def test_no_library(tmp_path):
    text = tmp_path / "libtext.so"
    text.write_text("not a library")
    with pytest.raises(LibraryError, match="cannot load kernel library"):
        Library.load(text)
