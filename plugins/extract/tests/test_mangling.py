"""Mangled names: our decoder against a tool and against names built by hand."""

import random
import shutil
import subprocess

import pytest

from ckprof_plugins.extract.mangling import ManglingError, decode, read_instance, take_apart
from plugins.extract.tests.binaries import SPECIALIZATIONS, table
from plugins.extract.tests.tree import line

ENUMERATIONS = {
    "ConvolutionForwardSpecialization": SPECIALIZATIONS,
    "GemmSpecialization": ("a", "b", "c", "d", "e", "f", "g", "MNKPadding"),
    "LoopScheduler": ("Default",),
}
#: with substitutions, as compilers write them
SUBSTITUTED = (
    "_ZTVN2ck16tensor_operation6device3FooILi2ENS_13tensor_layout11convolution5NHWGCENS4_5GKYXCENS_5TupleIJEEENS4_5"
    "NHWGKEttfLNS1_18GemmSpecializationE7ENS_8SequenceIJLi4ELi64ELi1EEEENSA_IJLi1ELin2EEEESB_Lb1ELj3ELm4EaS8_EE"
)


def decoded_by_tool(names):
    """Return the readable names of a command-line demangler."""
    tool = shutil.which("llvm-cxxfilt") or shutil.which("c++filt")
    if tool is None:
        pytest.skip("no demangler here")
    done = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=True)
    return [line.replace("> >", ">>") for line in done.stdout.splitlines()]


def test_substitutions():
    text = decode(SUBSTITUTED)
    assert text.startswith(
        "vtable for ck::tensor_operation::device::Foo<2, ck::tensor_layout::convolution::NHWGC, "
    )
    assert "(ck::tensor_operation::device::GemmSpecialization)7, ck::Sequence<4, 64, 1>, " in text
    assert decoded_by_tool([SUBSTITUTED]) == [text.replace("> >", ">>")]


@pytest.mark.parametrize("seed", range(8))
def test_a_line_survives_the_way_through_a_symbol(seed):
    draw = random.Random(seed)
    text = line(
        draw.choice((64, 128, 256)),
        draw.randrange(16, 512),
        draw.choice(SPECIALIZATIONS),
        vector=draw.choice((1, 2, 8)),
        merged=draw.choice((1, 8, 32)),
    )
    name, arguments = read_instance(take_apart(decode(table(text))), ENUMERATIONS)
    # The class has numbers where the line has words.
    assert f"{name}<{','.join(arguments)}>" == text.replace(",true,", ",1,")


@pytest.mark.parametrize(
    "mangled",
    [
        "_ZTVN2ck3FooIXadL_Z3barEEEE",
        "_ZTVN2ck9Foo",
        "_ZTVN2ckIS9_EE",
        "_ZTVN2ck3FooILi2E",
        "_ZTVN2ck3FooIPKcEE",
    ],
)
def test_what_is_not_known_is_an_error(mangled):
    with pytest.raises(ManglingError, match="cannot decode the mangled name"):
        decode(mangled)
