"""Spellings and meanings of arguments: what matches, what it means, and what is said of anything else."""

import pytest

from ckprof.model.strings import argument_kinds as kinds
from tests.cases import Cases

#: kind -> spelling and meaning; and texts that are none
SPELLINGS = [
    (
        kinds.INT,
        {"0": 0, "007": 7, "999999999": 999_999_999},
        ["", "-1", "1000000000", "1.0", "\u0663", "1 "],
    ),
    (kinds.POSITIVE, {"1": 1, "999999999": 999_999_999}, ["0", "01", "1000000000", "x"]),
    (kinds.FLAG, {"0": False, "1": True, "false": False, "true": True}, ["2", "True", "", "00"]),
    (kinds.WORD_FLAG, {"false": False, "true": True}, ["0", "1"]),
    (kinds.OPERATION, {"PassThrough": "PassThrough", "_x9": "_x9"}, ["9x", "a-b", ""]),
    (kinds.LAYOUT, {"NHWGC": "NHWGC", "GKC": "GKC"}, ["nhwgc", "NH", "NHWGCNHWG", "NHW1"]),
    (
        kinds.TUPLE,
        {text: text for text in ("EmptyTuple", "Tuple()", "tuple(NHWGK)", "Tuple(fp16, fp32)")},
        ["Tuple", "(fp16)", "EmptyTuple()", "Tuple(a)b", "Tuple(Tuple(a))"],
    ),
    (kinds.ELEMENT_TYPE, {"fp16": "fp16", "s8": "s8"}, ["int8", "FP16", ""]),
    (
        kinds.ELEMENT_PAIR,
        {"Tuple(fp16,fp16)": "fp16", "tuple(bf16 , bf16)": "bf16"},
        ["Tuple(fp16,bf16)", "Tuple(fp16)", "fp16"],
    ),
    (kinds.OPERAND_TYPE, {"fp8": "fp8", "Tuple(fp8,fp8)": "Tuple(fp8,fp8)"}, ["Tuple(fp8,bf8)", "fp9"]),
    (
        kinds.SEQUENCE,
        {text: text for text in ("Seq()", "Seq(4)", "Seq(4,64,1)", "Seq(0 , 2)")},
        ["Seq", "Seq(,)", "Seq(1,)", "Seq(-1)", "seq(1)"],
    ),
    (
        kinds.GEMM_PADDING,
        {text: text for text in ("Default", "KPadding", "MNKOPadding")},
        ["Padding", "XPadding"],
    ),
    (kinds.MATRIX_ORDERS, {"CRR": "CRR"}, ["CR", "CRRR", "crr", "CRX"]),
    (
        kinds.SPECIALIZATION,
        {"Default": "default", "OddC": "default", "Filter1x1Stride1Pad0": "filter1x1_stride1_pad0"},
        ["default", "Filter1x1"],
    ),
    (kinds.SCHEDULER, {"Interwave": "interwave"}, ["Default", "intrawave"]),
    (kinds.LOOP_SCHEDULER, {"Default": "intrawave", "Interwave": "interwave"}, [""]),
    (kinds.VERSION, {"v5": "v5"}, ["v6", "v0", "5"]),
    (kinds.SHORT_VERSION, {"v6": "v6"}, ["v7"]),
    (kinds.REDUCTION, {"0": "0", "1": "LINEAR", "2": "TREE"}, ["3", "TREE"]),
    (kinds.extents(3), {"4x64x1": (4, 64, 1)}, ["4x64", "4x64x1x1", "0x1x1", "4X64X1"]),
    (kinds.VECTORS, {"8x4xSeq(2)": (8, 4, 2)}, ["8x4x2", "8xSeq(2)", "0x4xSeq(2)"]),
]


def test_spellings_and_what_they_mean():
    with Cases() as cases:
        for kind, right, wrong in SPELLINGS:
            for text, meaning in right.items():
                with cases.case(kind.expected, repr(text)):
                    assert kind.matches(text) and kind.parse(text) == meaning
            for text in wrong:
                with cases.case(kind.expected, repr(text)):
                    assert not kind.matches(text)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        (kinds.INT, "x", "an integer"),
        (kinds.INT, "1234567890", "an integer of at most nine digits"),
        (kinds.POSITIVE, "x", "an integer"),
        (kinds.POSITIVE, "0", "a positive integer"),
        (kinds.POSITIVE, "1234567890", "an integer of at most nine digits"),
        (kinds.FLAG, "2", "one of 0, 1, false, true"),
        (kinds.extents(2), "4", "2 integers joined by x"),
    ],
)
def test_what_was_expected_instead(kind, text, wanted):
    assert kind.wanted(text) == wanted


def test_the_first_spelling_of_a_meaning_is_written():
    assert kinds.spelled(kinds.FLAG) == {False: "0", True: "1"}
    assert kinds.spelled(kinds.SPECIALIZATION)["default"] == "Default"
    # one spelling begins with another
    longer = kinds.words(("v1", "v1_2"))
    assert longer.matches("v1_2") and longer.parse("v1_2") == "v1_2"


def test_elements_of_tuples():
    for text, elements in (
        ("EmptyTuple", ()),
        ("Tuple()", ()),
        ("Tuple( )", ()),
        ("tuple(fp16)", ("fp16",)),
        ("Tuple(fp16 , fp32)", ("fp16", "fp32")),
    ):
        assert kinds.elements_of(text) == elements
