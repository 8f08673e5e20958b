"""Which state of CK Tile's interface a set of headers has."""

import pytest

from ckprof.errors import ToolchainError
from ckprof.model.architecture import API_LEVELS
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR
from ckprof_plugins.targets.hip.headers import detect_api_level, expand, table, template_parameters


def write_headers(root, level, *, extra=""):
    """Write the three headers that tell a level, with the parameters that its table lists."""
    for name, kinds in table().levels[level].items():
        parameters = ", ".join(f"{kind} P{index}_" for index, kind in enumerate(expand(kinds)))
        path = root / "ck_tile" / table().headers[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"template <{parameters}{extra}>\nstruct {name}\n{{}};\n")
    return root


def test_levels_are_those_that_kernels_are_written_for():
    assert tuple(table().levels) == API_LEVELS


def test_the_host_model_follows_the_documented_orders_of_the_latest_level():
    assert detect_api_level(INCLUDE_DIR) == API_LEVELS[-1]


@pytest.mark.parametrize("level", API_LEVELS)
def test_parameters_tell_the_level(level, tmp_path):
    assert detect_api_level(write_headers(tmp_path, level)) == level


@pytest.mark.parametrize("level", API_LEVELS)
def test_further_parameters_need_defaults(level, tmp_path):
    assert detect_api_level(write_headers(tmp_path / "a", level, extra=", bool More_ = false")) == level
    with pytest.raises(ToolchainError, match="of no API level that ckprof knows"):
        detect_api_level(write_headers(tmp_path / "b", level, extra=", bool More_"))


def test_an_unknown_level_is_told_with_what_was_found(tmp_path):
    write_headers(tmp_path, API_LEVELS[0])
    path = tmp_path / "ck_tile" / table().headers["GroupedConvTraits"]
    path.write_text("template <int N>\nstruct GroupedConvTraits {};")
    with pytest.raises(ToolchainError) as caught:
        detect_api_level(tmp_path)
    message = str(caught.value)
    assert "GroupedConvTraits: int\n" in message
    assert "--ck-root" in message
    assert caught.value.exit_code == 5


def test_a_missing_header_is_told(tmp_path):
    with pytest.raises(ToolchainError, match=r"cannot be read .*--ck-root"):
        detect_api_level(tmp_path)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("template <typename A, class B = int>\nstruct T {};", "typename typename"),
        ("template <ck_tile::index_t N = 1, bool B = (1 > 0)> struct T;", "index_t bool"),
        ("template <typename X>\nstruct Other {};\ntemplate <bool B> using T = int;", "bool"),
        (
            "// template <int N> struct T\ntemplate <typename A, // struct T\n bool B> struct T {};",
            "typename bool",
        ),
        ("template <typename A = std::map<int, long>, bool B = false> struct T;", "typename bool"),
        ("struct T {};", ""),
        ("using T = int;", ""),
    ],
)
def test_parameters_are_read_as_written(text, kinds):
    found = template_parameters(text, "T")
    assert " ".join(kind for kind, _ in found) == kinds
