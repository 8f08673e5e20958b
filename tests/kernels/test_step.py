"""How a compiler process is planned, how it ended, and why it failed."""

from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.step import StepFiles, error_lines
from ckprof.model.outcome import Status


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (
            "print('k.hpp:1: error: one', 'note', 'b: error: two', sep='\\n', file=sys.stderr); sys.exit(1)",
            "k.hpp:1: error: one\nb: error: two\n",
        ),
        ("print('went wrong', file=sys.stderr); sys.exit(4)", "went wrong\n"),
        ("sys.exit(4)", "exit status 4 and no message"),
        ("os.kill(os.getpid(), 9)", "ended by signal 9, probably for want of memory"),
        ("os.abort()", "ended by signal 6"),
    ],
)
def test_the_message_tells_what_went_wrong(make_tree, make_recipe, fake_compiler, build, behaviour, message):
    tree = make_tree(2)
    recipe = make_recipe(fake_compiler(f"if any('kernel_1.cpp' in a for a in args):\n    {behaviour}"))
    status, said = build(tree, recipe).failures[tree.kernels[1].key]
    assert status is Status.COMPILE_ERROR
    assert message in said
    assert Path(said.partition("full log: ")[2]).is_file()


def test_flags_with_line_breaks_are_rejected(make_tree, make_recipe, fake_compiler, build):
    with pytest.raises(ToolchainError, match="line break"):
        build(make_tree(1), make_recipe(fake_compiler(), compile_flags=("-DX=\n",)))


def test_error_lines_of_a_missing_log(tmp_path):
    assert error_lines(tmp_path / "none") == []


def test_an_unfinished_record_is_no_result(tmp_path):
    files = StepFiles(tmp_path)
    assert files.result("a") is None
    files.folder.mkdir()
    files.record("a").write_text('{"status": "ok"')
    assert files.result("a") is None
