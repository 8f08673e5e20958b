"""Arguments that kinds of lines share: their names, order, and which of them are read."""

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings import fields


def test_an_operand_is_loaded_by_seven_arguments_of_which_the_width_is_read():
    loaded = fields.operand("b")
    assert [(one.name, one.kind) for one in loaded] == [
        ("cluster_lengths_b", kinds.SEQUENCE),
        ("cluster_order_b", kinds.SEQUENCE),
        ("access_order_b", kinds.SEQUENCE),
        ("vector_dim_b", kinds.INT),
        ("vector_size_b", kinds.POSITIVE),
        ("destination_vector_b", kinds.INT),
        ("lds_extra_b", kinds.FLAG),
    ]
    assert [one.name for one in loaded if one.read] == ["vector_size_b"]
    assert [one.name for one in fields.RESULT if one.read] == ["vector_size_c"] and len(fields.RESULT) == 4


def test_layouts_of_further_operands_stand_before_the_last_one():
    plain, extra = (fields.layouts("input", "weight", "output", with_extra=more) for more in (False, True))
    assert [one.name for one in plain] == ["layout_input", "layout_weight", "layout_output"]
    assert [one.name for one in extra] == ["layout_input", "layout_weight", "layout_extra", "layout_output"]
    assert [one.kind for one in extra] == [kinds.LAYOUT, kinds.LAYOUT, kinds.TUPLE, kinds.LAYOUT]


def test_numbers_are_read_and_others_are_checked_alone():
    assert (fields.number("n").kind, fields.number("n").read) == (kinds.POSITIVE, True)
    both = fields.unread_all(kinds.FLAG, "a", "b")
    assert [(one.name, one.kind, one.read) for one in both] == [(n, kinds.FLAG, False) for n in "ab"]
    # fields are keys of caches: equal ones are different
    assert fields.number("n") != fields.number("n")
