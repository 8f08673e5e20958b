"""All kinds of strings that ckprof and its packages for convolutions know, and one string."""

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.grammar import StringGrammar
from ckprof.model.strings.rendering import render
from ckprof_converters.old_strings import KINDS as OLD_KINDS
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.directions._convolution.string_kinds import KINDS as TILE_KINDS

GRAMMAR = StringGrammar([*OLD_KINDS, *TILE_KINDS])


def weight(**changes):
    sizes = {field.name: 4 for field in string_kinds.BACKWARD_WEIGHT.fields if field.kind is kinds.POSITIVE}
    layouts = {"layout_input": "NHWGC", "layout_weight": "GKYXC", "layout_output": "NHWGK"}
    types = {"type_a": "bf16", "type_b": "bf16", "type_result": "bf16"}
    words = {"specialization": "Default", "pipeline_name": "COMPUTE_V3", "scheduler": "Intrawave"}
    flags = {"split_image": False, "explicit_gemm": False, "double_smem_buffer": False}
    return {**sizes, "ndim": 2, **layouts, **types, **words, **flags, **changes}


GOOD = render(string_kinds.BACKWARD_WEIGHT, weight(streamk_enabled=False))
