"""The preprocessor, the tokeniser, alias headers and class heads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof_plugins.extract.classes import class_records, first_type, read_head
from ckprof_plugins.extract.cpp_text import Expr, ExprReader, TokenStream, preprocess
from ckprof_plugins.extract.mangling import take_apart
from ckprof_plugins.extract.tuples import InstanceHeader


def kept(text, **macros):
    return " ".join(preprocess(text, macros, "x.h")[0].split())


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("1", True),
        ("UNKNOWN", False),
        ("defined(A) && defined B", True),
        ("defined(A) && !defined(B)", False),
        ("A == 3 || UNKNOWN", True),
        ("(A > 3) || (A <= 2)", False),
        ("B", True),
        ("0x10 == 16 && A != 4 && A >= 3 && A < 4", True),
        ("!(A)", False),
    ],
)
def test_conditions(condition, expected):
    text = f"#if {condition}\nyes\n#else\nno\n#endif\n"
    assert kept(text, A="3", B="A") == ("yes" if expected else "no")


def test_branches_nest_and_definitions_hold_where_they_are_kept():
    text = "#ifdef A\n#if 0\na\n#elif 1\nb\n#else\nc\n#endif\n#elif 1\nd\n#endif\n#ifndef A\ne\n#endif"
    assert kept(text, A="") == "b"
    assert kept(text) == "d e"
    text = "#if 0\n#define X 1\n#endif\n#define Y 2\n#undef Z\n#define F(a) a\n#if X + 0\n#endif"
    with pytest.raises(InputError, match=r"x.h:7: cannot evaluate #if X \+ 0"):
        preprocess(text, {"Z": "1"}, "x.h")
    assert preprocess(text.rsplit("\n", 2)[0], {"Z": "1"}, "x.h")[1] == {"Y": "2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#endif", "x.h:1: #endif without #if"),
        ("a\n#else", "x.h:2: #else without #if"),
        ("#if 1", "x.h: #if without #endif"),
        ("#if F(1)\n#endif", "x.h:1: cannot evaluate"),
        ("#if (1\n#endif", "x.h:1: cannot evaluate"),
        ("#if\n#endif", "x.h:1: cannot evaluate"),
        ("#if 1 1\n#endif", "x.h:1: cannot evaluate"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error(text, message):
    with pytest.raises(InputError, match=message):
        preprocess(text, {}, "x.h")


def balanced(pieces):
    depth = 0
    for piece in pieces:
        depth += (piece == "#if 0") - (piece == "#endif")
        if depth < 0:
            return False
    return depth == 0


@given(
    st.lists(
        st.sampled_from(["a", "// b", "/* c\nd */", 'x "//" y', "e \\\n f", "#if 0", "#endif"]), max_size=12
    )
)
def test_line_numbers_stay(pieces):
    text = "\n".join(pieces)
    try:
        result, _ = preprocess(text, {}, "x.h")
    except InputError:
        assert not balanced(pieces)
        return
    assert balanced(pieces)
    assert result.count("\n") == text.count("\n")
    assert "b" not in result.replace("\n", "")


def read_expression(text):
    reader = ExprReader(TokenStream(text, "x"))
    found = reader.expression()
    if reader.position < len(TokenStream(text, "x").texts):
        raise reader.error("the end")
    return found


def test_expressions():
    text = "ck::Foo<1, -2, a::b::C, S< 4, 64>, make(), Tuple<>, true, unsigned short>"
    assert read_expression(text) == Expr(
        "Foo",
        (
            Expr("1"),
            Expr("-2"),
            Expr("C"),
            Expr("S", (Expr("4"), Expr("64"))),
            Expr("make"),
            Expr("Tuple", ()),
            Expr("true"),
            Expr("unsigned short"),
        ),
    )


@pytest.mark.parametrize("text", ["A<1", "A<1 2>", "A<,>", "A<1>>", "A<f(2)>", ""])
def test_what_is_no_expression_is_an_error(text):
    with pytest.raises(InputError, match="x"):
        read_expression(text)


def test_short_names_are_replaced_and_parameters_bound():
    header = InstanceHeader(
        "using A = ck::half_t; using B = A; using S2 = Seq<A>; static constexpr auto D = Spec::Default;\n"
        "template <index_t... Is> using S = ck::Sequence<Is...>;\n"
        "template <typename T> using X = std::tuple<Foo<T, B, D, S<1>, S2>, std::nullptr_t>;",
        "x.h",
    )
    (element,) = header.elements("X")
    found = [header.substitute(item, {"T": Expr("float")}) for item in element.args]
    assert found == [
        Expr("float"),
        Expr("half_t"),
        Expr("Default"),
        Expr("Sequence", (Expr("1"),)),
        Expr("Seq", (Expr("half_t"),)),
    ]


def test_the_head_of_a_class():
    text = (
        "template <typename T> struct Foo;\n"
        "template <ck::index_t N, typename A, typename B = decltype(f<A, 1>()), bool C = false,\n"
        "          typename enable_if<(N == 3), bool>::type = false>\nstruct Foo : Base<N> {};"
    )
    found = read_head(text, "Foo", "x.h")
    assert [(item.kind, item.name, item.has_default) for item in found] == [
        ("index_t", "N", False),
        ("typename", "A", False),
        ("typename", "B", True),
        ("bool", "C", True),
        ("condition", "", True),
    ]
    assert found[2].default is None
    assert found[3].default == Expr("false")
    with pytest.raises(InputError, match="no template Bar"):
        read_head(text, "Bar", "x.h")


def test_the_class_table_is_consistent():
    for name, record in class_records().items():
        assert record.header.endswith(".hpp"), name
        assert bool(record.fields) + bool(record.text) + bool(record.wraps) + bool(record.refusal) == 1, name


@pytest.mark.parametrize(
    ("printed", "first"), [("fp16", "fp16"), ("Tuple(bf16,bf16)", "bf16"), ("Tuple(s8,s8)", "s8")]
)
def test_operands_of_several_tensors_are_computed_in_the_type_of_the_first(printed, first):
    assert first_type(printed) == first


def test_compiled_names_of_types_of_8_bits():
    """Headers call them as they are for all architectures, symbols as they are for one."""
    name = "vtable for ck::Device<ck::f8_ocp_t, ck::bf8_ocp_t, ck::Tuple<_Float16, _Float16>>"
    assert take_apart(name) == ["Device", "fp8", "bf8", "Tuple(fp16,fp16)"]
