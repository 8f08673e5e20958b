"""What holds for a list as a whole: ids, duplicates, comments, line ends, layouts and types."""

import pytest
from msgspec.structs import replace

from ckprof.errors import ExitCode, InputError, ListError
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout

from .samples import change, column, line

A = line("forward")
B = line("forward_v3")
DEPTHWISE = line("depthwise")
NHWGC, NDHWGC = find_layout("nhwgc"), find_layout("ndhwgc")


def in_3d(text):
    return text.replace("<2,", "<3,").replace("NHWG", "NDHWG").replace("GKYXC", "GKZYXC")


def test_ids_are_zero_based_line_numbers_and_duplicates_name_the_first_line(convert):
    conversion = convert(
        "# a comment", A, "", B, A, "; another", change(B, 50, "2"), f" {A} # with an annotation"
    )
    (catalog,) = conversion.catalogs
    assert [record.id for record in catalog.records] == [1, 3, 6]
    assert conversion.source_lines == {("forward", 1): 2, ("forward", 3): 4, ("forward", 6): 7}
    assert [(line, why.rule, why.message) for line, why in conversion.dropped.items()] == [
        (1, "comment", "comment line"),
        (3, "blank", "blank line"),
        (5, "duplicate", "equal to line 2 in all but the id"),
        (6, "comment", "comment line"),
        (8, "duplicate", "equal to line 2 in all but the id"),
    ]
    assert conversion.lines == 8


def test_lines_that_differ_in_unread_arguments_only_are_duplicates(convert):
    conversion = convert(A, change(A, 23, "2"), A.replace("Default,MNKPadding", "OddC,MNKPadding"))
    assert [why.message for why in conversion.dropped.values()] == ["equal to line 1 in all but the id"] * 2


@pytest.mark.parametrize("mark", ["#", ";"])
def test_remarks_behind_an_instance_swallow_it_only_as_upstream_does(convert, mark):
    text = f"{A} {mark} tuned"
    assert len(convert(text).catalogs[0].records) == 1
    conversion = convert(text, B, upstream_comments=True)
    assert [(line, why.rule) for line, why in conversion.dropped.items()] == [(1, "comment")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_of_every_kind(convert, end, last, mark):
    data = mark + end.join((A, "# Grüße", B)).encode() + (end.encode() if last else b"")
    conversion = convert(data)
    assert [record.id for record in conversion.catalogs[0].records] == [0, 2]
    assert conversion.lines == 3


def test_braces_of_another_language_are_no_json(errors_of):
    (message,) = errors_of(f"{{{A}}},")
    assert message == "list.conf:1:2: the instance begins here: remove what stands in front of it, '{'"


def test_colours_in_a_list(convert):
    assert len(convert(f"\x1b[32m{A}\x1b[0m", f"  \x1b[1m{B}\x1b[0m").catalogs[0].records) == 2


def test_a_semicolon_in_place_of_a_comma_is_named(errors_of):
    (message,) = errors_of(A.replace(",", ";", 3))
    assert (
        message
        == f"list.conf:1:{A.index(',') + 1}: ';' begins a comment, inside of an instance: expected a comma"
    )


def test_lists_that_were_joined_have_a_byte_order_mark_each(convert):
    mark = b"\xef\xbb\xbf"
    conversion = convert(b"".join((mark, A.encode(), b"\n", mark, b"# second\n", mark, B.encode())))
    assert [record.id for record in conversion.catalogs[0].records] == [0, 2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x.conf: the file is empty, expected an instance list"),
        (b"\n# only\n", "x.conf: no instance found: all 2 lines are blank or comments"),
        (
            A.encode() + b"\nab\0c",
            "x.conf:2:3: NUL byte: this is a binary file or UTF-16 text, not an instance list",
        ),
        (
            A.encode() + b"\r\n\xc3\xa9\xff",
            "x.conf:2:2: byte 0xff is not UTF-8 text (invalid start byte): save the file as UTF-8",
        ),
        ("\ufeff".encode("utf-16") + A.encode("utf-16"), "x.conf:1:1: UTF-16 text: save the file as UTF-8"),
        (
            b"#\n" + b"x" * 100_001,
            "x.conf:2:1: the line is longer than 100000 characters: this is not an instance list",
        ),
    ],
    ids=["empty", "comments", "nul", "latin", "utf-16", "huge"],
)
def test_content_that_is_no_list(convert, data, message):
    with pytest.raises(InputError) as caught:
        convert(data, name="x.conf")
    assert str(caught.value) == message
    assert caught.value.exit_code is ExitCode.INPUT


def test_layout_and_type_come_from_the_lines_whatever_the_name(convert):
    catalog = convert(in_3d(line("forward", "bf16")), name="legacy.conf").catalogs[0]
    assert (catalog.ndim, catalog.layout, catalog.dtype) == (3, NDHWGC, DataType.BF16)


@pytest.mark.parametrize("request_", [{"layout": NHWGC, "dtype": DataType.FP16}, {}])
def test_lines_that_say_neither_use_the_request_or_the_name(convert, request_):
    name = "legacy.conf" if request_ else "nhwgc_fp16.conf"
    catalog = convert(line("short_forward"), name=name, **request_).catalogs[0]
    assert (catalog.layout, catalog.dtype) == (NHWGC, DataType.FP16)


def test_lines_that_say_neither_need_options(errors_of):
    short = line("short_forward")
    assert errors_of(short, short) == [
        "list.conf:1:1: neither the lines nor the file name say the layout: pass --layout (and 1 more line)"
    ]
    assert errors_of(short, name="nhwgc.conf") == [
        "nhwgc.conf:1:1: neither the lines nor the file name say the data type: pass --dtype"
    ]


def test_a_name_that_says_two_things_says_nothing(convert):
    assert convert(A, name="fp32_or_fp16.conf").catalogs[0].dtype is DataType.FP16


@pytest.mark.parametrize(
    ("lines", "request_", "expected"),
    [
        (
            (A, B),
            {"name": "nhwgc_bf16.conf"},
            f":1:{column(A, 6)}: data type fp16 contradicts the file name, which says bf16 (and 1 more line)",
        ),
        (
            (A,),
            {"name": "ndhwgc_fp16.conf"},
            f":1:{column(A, 2)}: layout nhwgc contradicts the file name, which says ndhwgc",
        ),
        (
            (A,),
            {"dtype": DataType.FP32},
            f":1:{column(A, 6)}: data type fp16 contradicts --dtype, which says fp32",
        ),
        (
            (A,),
            {"layout": NDHWGC},
            f":1:{column(A, 2)}: layout nhwgc contradicts --layout, which says ndhwgc",
        ),
        (
            (A, line("forward", "fp32")),
            {},
            f":2:{column(A, 6)}: data type fp32 contradicts line 1, which says fp16",
        ),
        ((A, in_3d(B)), {}, f":2:{column(B, 2)}: layout ndhwgc contradicts line 1, which says nhwgc"),
        (
            (DEPTHWISE,),
            {"layout": NHWGC},
            ":1:1: depthwise forward lines have layout ngchw, --layout says nhwgc",
        ),
    ],
)
def test_contradictions_show_both_sides(errors_of, lines, request_, expected):
    (message,) = errors_of(*lines, **request_)
    assert message == request_.get("name", "list.conf") + expected


def test_an_option_overrides_the_file_name(convert):
    assert convert(A, name="nhwgc_bf16.conf", dtype=DataType.FP16).catalogs[0].dtype is DataType.FP16


def test_a_stream_k_list_may_carry_the_layout_names_of_its_3d_sibling(convert, errors_of):
    text = line("native_backward_weight", "bf16").replace("NHWG", "NDHWG").replace("GKYXC", "GKZYXC")
    conversion = convert(text, name="nhwgc_bf16_streamk.conf")
    assert conversion.catalogs[0].layout is NHWGC
    assert conversion.notes == (
        "native backward-weight kernel lines say ndhwgc, the file name says nhwgc: read as nhwgc",
    )
    assert errors_of(text, name="nhwgc_bf16.conf") == [
        "nhwgc_bf16.conf:1:40: 2 spatial dimensions do not fit layout ndhwgc, which has 3"
    ]


def test_a_line_of_another_direction(errors_of):
    assert errors_of(A, B, A, line("backward_data"), direction="bwd_data") == [
        "list.conf:1:1: forward XDL is of direction fwd, expected bwd_data (and 1 more line)",
        "list.conf:2:1: forward XDL V3 is of direction fwd, expected bwd_data",
    ]


def test_without_a_direction_each_variant_gets_its_catalog(convert):
    conversion = convert(A, line("backward_data"), DEPTHWISE)
    assert [(item.variant, item.layout.name, item.dtype.value) for item in conversion.catalogs] == [
        ("forward", "nhwgc", "fp16"),
        ("bwd_data", "nhwgc", "fp16"),
        ("forward_depthwise", "ngchw", "fp16"),
    ]
    assert [catalog.records[0].id for catalog in conversion.catalogs] == [0, 1, 0]


def test_depthwise_lines_give_a_catalog_for_each_type_and_count_themselves(convert):
    bare = DEPTHWISE.partition("<")[2].rstrip(">")
    other = change(DEPTHWISE, 12, "4")
    conversion = convert("# heights", DEPTHWISE, "", bare, other, name="ngchw_depthwise.conf")
    assert [catalog.dtype.value for catalog in conversion.catalogs] == ["fp32", "fp16", "bf16"]
    for catalog in conversion.catalogs:
        assert (catalog.variant, catalog.layout.name, catalog.ndim) == ("forward_depthwise", "ngchw", 2)
        assert [record.id for record in catalog.records] == [0, 2]
    assert conversion.source_lines == {("forward_depthwise", 0): 2, ("forward_depthwise", 2): 5}
    assert [why.rule for why in conversion.dropped.values()] == ["comment", "blank", "duplicate"]


@pytest.mark.parametrize("request_", [{"dtype": DataType.BF16}, {"name": "ngchw_bf16.conf"}])
def test_depthwise_lines_of_one_type(convert, request_):
    (catalog,) = convert(DEPTHWISE, **request_).catalogs
    assert catalog.dtype is DataType.BF16


def test_all_errors_of_a_list_are_collected_up_to_a_limit(errors_of):
    bad = change(change(A, 19, "x"), 20, "y")
    assert errors_of(A, bad, "nonsense") == [
        f"list.conf:2:{column(A, 19)}: expected an integer for tile_m (argument 19), got 'x'",
        f"list.conf:2:{column(bad, 20)}: expected an integer for tile_n (argument 20), got 'y'",
        "list.conf:3:1: expected Name<argument,...>, found no '<' in 'nonsense'",
    ]
    assert len(errors_of(*["nonsense"] * 5000)) == 1000


def test_lenient_conversion_drops_wrong_lines_with_their_message(convert, errors_of):
    bad = change(A, 19, "x")
    conversion = convert(bad, A, "nonsense", lenient=True)
    assert [(line, why.rule) for line, why in conversion.dropped.items()] == [(1, "error"), (3, "error")]
    assert conversion.dropped[1].message == "expected an integer for tile_m (argument 19), got 'x'"
    assert [record.id for record in conversion.catalogs[0].records] == [1]
    with pytest.raises(ListError) as caught:
        convert(bad, lenient=True)
    assert (len(caught.value.diagnostics), caught.value.advice) == (1, "no line is left")


@pytest.mark.parametrize("blank", ["\t", "\xa0", " \t"])
def test_blanks_of_any_kind_stand_where_spaces_may(convert, errors_of, blank):
    text = A.replace(",", f",{blank}")
    (catalog,) = convert(text, f"{text} # {blank}").catalogs
    assert [replace(record, id=0) for record in catalog.records] == [
        replace(record, id=0) for record in convert(A).catalogs[0].records
    ]
    wrong = change(text, 19, "x")
    (message,) = errors_of(f"{blank}{wrong}")
    assert message.startswith(f"list.conf:1:{len(blank) + column(wrong, 19)}: expected an integer for tile_m")
