"""Which files are meant by names, and which of a tree are taken for lists."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.lists import list_files
from ckprof.lists.catalogs import render_catalog
from ckprof.lists.list_files import explain, find_list, find_lists, find_tree, list_request, read_list
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof_plugins.directions._convolution.layout import find_layout


@pytest.fixture
def tree(tmp_path):
    for name in ("b/tests/x.conf", "a/tests/y.json", "a/profiler/y.conf", "a/tests/annotation.txt"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "tree"


def names(root, set_name):
    return [path.relative_to(root).as_posix() for path in find_lists(root, set_name)]


def test_lists_are_found_by_set(tree, tmp_path):
    assert names(tree, None) == ["a/profiler/y.conf", "a/tests/y.json", "b/tests/x.conf"]
    assert names(tree, "tests") == ["a/tests/y.json", "b/tests/x.conf"]
    assert names(tree / "a" / "tests", "tests") == ["y.json"]
    with pytest.raises(InputError, match="no list in a folder 'nightly'; lists are in profiler, tests"):
        find_lists(tree, "nightly")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no list"):
        find_lists(tmp_path / "empty", None)


def test_the_shipped_tree_goes_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_tree("conf") == conf_root()
    assert find_tree("conf/forward") == conf_root() / "forward"
    assert len(find_lists(find_tree("conf"), "tests")) == 84
    assert len(find_lists(find_tree("conf"), "profiler")) == 92  # dynamic_op has no others
    with pytest.raises(InputError, match="no such folder"):
        find_tree("confs")


def test_a_file_is_no_tree(tree):
    with pytest.raises(InputError, match="--conf"):
        find_tree(str(tree / "a" / "tests" / "y.json"))


LIST = "forward/tests/nhwgc_fp16"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [LIST, f"{LIST}.conf", f"conf/{LIST}", f"conf/{LIST}.conf"])
def test_shipped_lists_go_by_name(here, name):
    assert find_list(name) == conf_root() / f"{LIST}.conf"
    # a file of the user comes first
    own = here / name
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_list(name) == Path(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("forward/tests", "no such file, and no shipped list of that name"),
        ("forward/tests/nhwgc_fp61", "; did you mean 'forward/tests/nhwgc_fp16'?"),
        ("ngchw_depthwise", "; did you mean one of "),
        ("mine.cnof", "; did you mean 'mine.conf'?"),
        ("nosuch.conf", "no such file, and no shipped list of that name (see"),
        ("nosuch/mine.conf", "no such file, and no shipped list of that name (see"),
        ("-", "no such file, and no shipped list of that name; standard input is /dev/stdin"),
        (".", "is a directory, expected an instance list"),
        ("dangling", "a link to nowhere, which does not exist"),
        (f"/{LIST}", "no such file"),
    ],
)
def test_names_of_no_list_are_errors_with_a_hint(here, name, message):
    (here / "mine.conf").touch()
    (here / "dangling").symlink_to("nowhere")
    with pytest.raises(InputError) as caught:
        find_list(name)
    assert message in str(caught.value) and str(caught.value).startswith(f"{Path(name)}: ")


def test_catalogs_are_read_as_their_list_is(here, registry):
    conversion = read_list(find_list(LIST), registry, direction="fwd")
    path = here / "x.json"
    path.write_text(render_catalog(conversion.catalogs[0]))
    again = read_list(path, registry)
    assert again.catalogs == conversion.catalogs
    assert (again.converter, again.lines) == ("catalog", path.read_text().count("\n") + 1)
    for reading, said in (
        (ListReading(layout=find_layout("ngchw")), "the list says nhwgc, --layout says ngchw"),
        (ListReading(dtype=DataType.BF16), "the list says fp16, --dtype says bf16"),
    ):
        with pytest.raises(InputError, match=f"x.json: {said}"):
            read_list(path, registry, reading=reading)
    with pytest.raises(InputError, match="the list holds instances of fwd, expected bwd_data"):
        read_list(path, registry, direction="bwd_data")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty, expected an instance list"),
        (" \n\n", "the file is empty, expected an instance list"),
        ("tile = 64\n", "not an instance list in a known dialect (benchmark, "),
        ("BZh91AY", "a packed file: unpack it first"),
    ],
)
def test_other_files_are_no_lists(here, registry, text, message):
    (here / "x.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        read_list(Path("x.txt"), registry)
    assert str(caught.value).startswith(f"x.txt: {message}")
    with pytest.raises(InputError, match=r"y\.conf: cannot read: No such file"):
        read_list(Path("y.conf"), registry)


def test_large_files_are_read_piece_by_piece_where_that_is_enough(here, registry):
    text = find_list(LIST).read_text()
    large = text + "# a comment\n" * (1 + (1 << 20) // 12)
    (here / "x.conf").write_text(large)
    request = list_request(Path("x.conf"), ListReading())
    assert request.stream is not None and len(request.data) == (1 << 20) + 1
    whole = list_request(Path("x.conf"), ListReading(), whole=True)
    assert whole.stream is None and whole.data == large.encode()
    assert list_request(find_list(LIST), ListReading()).stream is None
    small, again = read_list(find_list(LIST), registry), read_list(Path("x.conf"), registry, direction="fwd")
    assert [one.records for one in again.catalogs] == [one.records for one in small.catalogs]


def test_a_pipe_is_a_list_that_is_read_once(here, monkeypatch):
    os.mkfifo(here / "pipe")
    data = find_list(LIST).read_bytes()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit((here / "pipe").write_bytes, data)
        request = list_request(Path("pipe"), ListReading())
        assert written.result() == len(request.data) == len(data)
    monkeypatch.setattr(list_files, "_PIPE_LIMIT", 1 << 20)
    with pytest.raises(InputError, match="zero: more than 1 MiB that come from no regular file"):
        list_request(Path("/dev/zero"), ListReading())


def test_a_line_is_explained_alone_where_its_list_cannot_be_read(here, registry):
    line = next(one for one in find_list(LIST).read_text().splitlines() if one.startswith("Device"))
    alone = explain(line, registry, ListReading())
    (here / "x.conf").write_text(f"{line}\n{line.replace('256', 'x', 1)}\n")
    first = explain("x.conf:1:7:", registry, ListReading())
    assert (first.path, first.line, first.record) == (Path("x.conf"), 1, alone.record)
    second = explain("x.conf:2", registry, ListReading())
    assert second.errors and (second.path, second.line) == (Path("x.conf"), 2)
    (here / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"x\.json: is a JSON catalog; only lines of lists and logs"):
        explain("x.json:1", registry, ListReading())
    (here / "x.conf").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=r"x\.conf:1:1: byte 0xff is not UTF-8 text"):
        explain("x.conf:1", registry, ListReading())
    for number, said in ((0, "lines count from 1"), (999, "there is no line 999, the file has [0-9]+ lines")):
        with pytest.raises(InputError, match=said):
            explain(f"{LIST}:{number}", registry, ListReading())
