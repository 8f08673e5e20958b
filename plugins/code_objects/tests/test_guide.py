"""The guide shows what the example has, word by word, and those of its tests pass that compile nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = (
    (ROOT / "docs" / "plugin-guides.md")
    .read_text()
    .partition("## A family without C++\n")[2]
    .partition("\n## ")[0]
)
EXAMPLE = ROOT / "examples" / "flydsl_kernels"
#: the file that a block says that it is of, and its text
BLOCKS = re.findall(r"<!-- not run: a part of (\S+) -->\n```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize(("file", "text"), BLOCKS)
def test_blocks_are_the_examples(file, text):
    assert text in (ROOT / file).read_text()


def test_lines_and_files_that_it_names_are_there():
    assert len(BLOCKS) == GUIDE.count("```python") == 6
    (entry,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    assert entry in (EXAMPLE / "pyproject.toml").read_text()
    for name in set(re.findall(r"`(\w+\.py)`", GUIDE)):
        assert (EXAMPLE / "ckprof_flydsl" / name).is_file(), name
    for line in re.findall(r"`(FlyDsl\w+<[^>]*>)`", GUIDE):
        assert any(line in path.read_text() for path in EXAMPLE.glob("*.conf")), line
    for conf in re.findall(r"--conf (\S+)", GUIDE):
        assert (EXAMPLE / conf).is_file(), conf


@pytest.mark.thorough
def test_the_examples_rules_and_launches():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_family.py"]
    ran = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:]
