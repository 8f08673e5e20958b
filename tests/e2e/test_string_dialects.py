"""The two strings of one instance, printed by its own functions in the tree ``$CK_BUILDER_ROOT``.

What is printed is a golden file; ``tests/docs/string_dialects.py`` makes the table of docs/parity.md from it.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckprof_converters.reflection.program import host_compilation
from ckprof_converters.reflection.tree import find_tree

ROOT = os.environ.get("CK_BUILDER_ROOT")
pytestmark = [
    pytest.mark.amd,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not ROOT, reason="needs $CK_BUILDER_ROOT"),
]

HERE = Path(__file__).parent / "string_dialects"
REFLECTION = Path(__file__).parents[2] / "converters" / "reflection"
INSTANCES = "ck/library/tensor_operation_instance/gpu"
CHANNELS_LAST = "NHWGC, GKYXC, Empty_Tuple, NHWGK"
FORWARD = f"2, {CHANNELS_LAST}, ConvFwdDefault"
#: name of the class's headers -> the library's header of instances, and some of its lists
CLASSES = {
    "fwd_multiple_abd_xdl_cshuffle": (
        "grouped_conv_fwd/device_grouped_conv_fwd_xdl_instance.hpp",
        [f"fwd_xdl_bf16_instances<{FORWARD}>", f"fwd_xdl_f16_instances<{FORWARD}>"],
    ),
    "fwd_multiple_abd_xdl_cshuffle_v3": (
        "grouped_conv_fwd/device_grouped_conv_fwd_xdl_comp_instance.hpp",
        [f"fwd_xdl_bf16_comp_instances<{FORWARD}>", f"fwd_xdl_bf16_comp_instances_part2<{FORWARD}>"],
    ),
    "fwd_multiple_d_xdl_large_tensor_cshuffle": (
        "grouped_conv_fwd/device_grouped_conv_fwd_xdl_large_tensor_instance.hpp",
        [f"fwd_xdl_large_tensor_{dtype}_instances<{FORWARD}>" for dtype in ("bf16", "f32")],
    ),
    "fwd_multiple_d_wmma_cshuffle": (
        "grouped_conv_fwd/device_grouped_conv_fwd_wmma_instance.hpp",
        [f"fwd_wmma_f16_instances<2, {CHANNELS_LAST}, Empty_Tuple, PassThrough, ConvFwd1x1P0>"],
    ),
    "fwd_dl_multiple_d_nhwc_kyxc_nhwk": (
        "grouped_conv_fwd/device_grouped_conv_fwd_dl_instance.hpp",
        [
            f"2d_fwd_dl_{dtype}_instances<{CHANNELS_LAST}, Empty_Tuple, PassThrough, ConvFwdDefault>"
            for dtype in ("f16", "f32")
        ],
    ),
    "bwd_weight_xdl_cshuffle": (
        "grouped_conv_bwd_weight/device_grouped_conv_bwd_weight_xdl_instance.hpp",
        [
            "bwd_weight_xdl_c_shuffle_bf16_instances<2, NHWGC, GKYXC, NHWGK, ConvBwdWeightDefault>",
            # with the channels first, there is more to print
            "bwd_weight_xdl_c_shuffle_bf16_instances<2, NGCHW, GKYXC, NGKHW, ConvBwdWeightDefault, 4, 2>",
        ],
    ),
}


def source_of(name):
    header, lists = CLASSES[name]
    calls = "".join(
        f"    print_all(static_cast<device_grouped_conv{one}*>(nullptr));\n"
        for one in (text if text.startswith("2d") else f"_{text}" for text in lists)
    )
    return (
        '#include "ck_tile/builder/reflect/instance_traits_util.hpp"\n'
        f'#include "both_strings.hpp"\n#include "{INSTANCES}/{header}"\n\n'
        f"int main()\n{{\n    using namespace ck::tensor_operation::device::instance;\n{calls}}}\n"
    )


def body_of(path, function):
    """Return a function from its name to its return, without blanks and comments."""
    text = path.read_text()
    body = text[text.index(function) :].split(".str();")[0]
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*", "", body))


def parameter(expression):
    """Return the template parameter in an expression such as ``detail::type_name<AccDataType>()``."""
    inner = re.sub(r"^.*[<(\[](\w+)[>)\]?].*$", r"\1", expression)
    return re.sub(r"^k(?=[A-Z])", "", inner)


def type_fields(body):
    """Return (label, template parameter) of what ``GetTypeString`` prints, in order."""
    parts = re.findall(r'<<("[^"]*"|[^"<;]+)', body.replace('<<"<"', "").replace('<<", "', ""))
    fields, label = [], ""
    for part in parts:
        if not part.startswith('"'):
            fields.append([label, parameter(part)])
            label = ""
        elif ":" in part:
            label = re.search(r"(\w+):", part)[1]
    return fields


def computed_in(path, fields):
    """Return those of the fields that are no template parameters: the class computes them."""
    text = path.read_text()
    return [name for _, name in fields if re.search(rf"static constexpr \w+ {name}\s*=", text)]


def instance_fields(body):
    """Return the template parameters that ``instance_string`` prints, in order."""
    ternary = re.sub(r'\((k\w+)\?"true":"false"\)', r"\1", body)
    return [parameter(found) for found in re.findall(r'<<"[<,]"<<([^;]*?);', ternary)]


@pytest.mark.slow
def test_both_strings_of_instances(tmp_path, golden):
    tree = find_tree(Path(ROOT))
    compiler, flags = host_compilation(
        tree, (HERE, REFLECTION / "include"), ("CK_USE_XDL", "CK_USE_WMMA", "CK_EXPERIMENTAL_BUILDER")
    )

    def printed(name):
        source, program = tmp_path / f"{name}.cpp", tmp_path / name
        source.write_text(source_of(name))
        command = [*compiler.command, *flags]
        objects = []
        for path in (source, REFLECTION / "src" / "device.cpp"):
            objects.append(tmp_path / f"{name}-{path.stem}.o")
            own_id = ("-Xclang", f"-cuid={objects[-1].stem}")
            subprocess.run([*command, *own_id, "-c", path, "-o", objects[-1]], check=True)
        subprocess.run([*compiler.command, *objects, "-o", program, "-no-hip-rt"], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(2) as pool:
        pairs = dict(zip(CLASSES, pool.map(printed, CLASSES), strict=True))
    record = {}
    for name in CLASSES:
        device = tree.root / "include/ck/tensor_operation/gpu/device/impl" / f"device_grouped_conv_{name}.hpp"
        traits = tree.root / "experimental/builder/include/ck_tile/builder/reflect"
        instance = traits / f"instance_traits_device_grouped_conv_{name}.hpp"
        fields = type_fields(body_of(device, "GetTypeString() const"))
        record[name] = {
            "type_fields": fields,
            "computed": computed_in(device, fields),
            "instance_fields": instance_fields(body_of(instance, "std::string instance_string()")),
            "pairs": pairs[name],
        }
    golden("string_dialects/2025-11.json", json.dumps(record, indent=1) + "\n")
