"""What users see of plugins that break their contract: one message, and a traceback only with ``-v``."""

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.paths import conf_root
from ckprof.plugin.manager import DISABLE_VARIABLE

PIPELINE = """
from ckprof import hookimpl
from ckprof.model.catalog import CatalogRecord
from ckprof.plugin.protocols import CatalogVariant, ReportFormat
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline


class Mine(ImplicitGemmPipeline):
    id = "mine"
    label = "broken on purpose"
"""

LIST = "forward/tests/nhwgc_fp16.conf"

#: what the plugin does -> (its source behind PIPELINE, a command, what the message says)
CASES = {
    "a property raises": (
        """
class Raising(Mine):
    @property
    def library(self):
        return self.no_such_field

@hookimpl
def ckprof_register(registry):
    registry.add(Raising())
""",
        ("list", "instances", "--conf", LIST, "--family", "mine"),
        "pipeline 'mine': library raised AttributeError: ",
    ),
    "render returns nothing": (
        """
class Silent(Mine):
    id = "implicit_gemm"

    def render_named(self, instance, name, arch, api_level):
        pass

@hookimpl
def ckprof_register(registry):
    registry.add(Silent())
""",
        ("generate", "fwd", "--conf", LIST, "--build-dir", "out"),
        "pipeline 'implicit_gemm': render_named returned None, expected KernelSource",
    ),
    "a record by keywords only": (
        """
class Record(CatalogRecord, kw_only=True, forbid_unknown_fields=True):
    rows: int

@hookimpl
def ckprof_register(registry):
    from ckprof_plugins.directions._convolution.layout import LAYOUTS

    registry.add(CatalogVariant(
        name="mine", direction="fwd", record_type=Record, pipeline="mine", layouts=LAYOUTS
    ))
""",
        ("convert", LIST),
        "catalog variant 'mine': record_type Record takes rows by keyword only",
    ),
    "a step of a family raises": (
        """
from ckprof.model.strings.fields import Field
from ckprof.model.strings.argument_kinds import POSITIVE
from ckprof_converters.conf_family import ConfFamily

class Record(CatalogRecord, forbid_unknown_fields=True):
    rows: int

def step(values, properties):
    return values["no such value"]

@hookimpl
def ckprof_register(registry):
    from ckprof_plugins.directions._convolution.layout import LAYOUTS

    registry.add(CatalogVariant(
        name="mine", direction="fwd", record_type=Record, pipeline="mine", layouts=LAYOUTS
    ))
    registry.add(ConfFamily(id="mine", title="mine", direction="fwd", names=("Mine",), variant="mine",
        fields=(Field(name="rows", kind=POSITIVE),), record_type=Record, layout="nhwgc", steps=(step,)))
""",
        ("list", "instances", "--conf", "mine.conf", "--dtype", "fp16"),
        "raised KeyError: 'no such value' in converter 'conf': convert of plugin ckprof_converters",
    ),
}


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a plugin, and return what calls ckprof with it."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.py"

    def call(source, *arguments):
        path.write_text(PIPELINE + source)
        return main(["--plugin", str(path), *arguments])

    (tmp_path / "mine.conf").write_text("Mine<3>\n")
    return call


@pytest.mark.parametrize("case", CASES)
def test_one_message_that_names_plugin_object_and_member(plugin, case, capsys, monkeypatch):
    source, command, said = CASES[case]
    if case == "render returns nothing":
        # the id is one pipeline's only
        monkeypatch.setenv(DISABLE_VARIABLE, "ckprof_plugins.pipelines.implicit_gemm")
    assert plugin(source, *command) == ExitCode.PLUGIN
    shown = capsys.readouterr()
    assert f"hostile.py: {said}" in shown.err
    assert "Traceback" not in shown.err
    assert not shown.out


def test_where_it_happened_is_shown_with_v(plugin, capsys):
    source, command, _ = CASES["a property raises"]
    assert plugin(source, "-v", *command) == ExitCode.PLUGIN
    err = capsys.readouterr().err
    assert "Traceback" in err and "return self.no_such_field" in err
    assert "ckprof/plugin/boundary.py" not in err


def test_one_broken_list_of_a_tree_leaves_the_others_alone(plugin, tmp_path, capsys):
    folder = tmp_path / "tree" / "forward"
    folder.mkdir(parents=True)
    line = (conf_root() / LIST).read_text().splitlines()[0]
    for name in ("a_nhwgc_fp16", "b_nhwgc_fp16", "c_nhwgc_fp16"):
        (folder / f"{name}.conf").write_text(line + "\n")
    source = """
@hookimpl
def ckprof_after_conversion(conversion):
    if conversion.path.name.startswith("b_"):
        raise SystemExit(0)
"""
    assert plugin(source, "run", "--tree", str(tmp_path / "tree"), "--dry-run") == ExitCode.PLUGIN
    shown = capsys.readouterr()
    assert shown.out.count("would build 1 fwd kernel") == 2
    assert "hostile.py: ckprof_after_conversion called sys.exit(0)" in shown.err


@pytest.mark.thorough
@pytest.mark.compiler
def test_a_kernel_that_says_something_else_than_its_pipeline(plugin, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(DISABLE_VARIABLE, "ckprof_plugins.pipelines.implicit_gemm")
    (tmp_path / "one_nhwgc_fp16.conf").write_text((conf_root() / LIST).read_text().splitlines()[0] + "\n")
    command = ("build", "fwd", "--conf", "one_nhwgc_fp16.conf", "--build-dir", "out")
    source = """
class Liar(Mine):
    id = "implicit_gemm"

    def instance_string(self, instance):
        return super().instance_string(instance).replace("<2,", "<3,", 1)

@hookimpl
def ckprof_register(registry):
    registry.add(Liar())
"""
    honest = source.replace('"<2,", "<3,"', '"<2,", "<2,"')
    # found again by the next call, although nothing is linked then
    for _ in range(2):
        assert plugin(source, *command) == ExitCode.PLUGIN
        said = capsys.readouterr().err
        assert "hostile.py: pipeline 'implicit_gemm': instance_string gives\n  GroupedConv" in said
        assert "but get_instance_string() of the kernel grouped_conv_fwd_fp16_nhwgc_2d" in said
    assert plugin(honest, *command) == ExitCode.OK
    (stamp,) = (tmp_path / "out").glob("*.instance_strings.checked")
    checked = stamp.stat().st_mtime_ns
    assert plugin(honest, *command) == ExitCode.OK
    assert stamp.stat().st_mtime_ns == checked
