"""Training on a damaged store ends in a documented way."""

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from tests.store.test_damage import damaged, make_sound


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return make_sound(tmp_path_factory.mktemp("sound"))


@pytest.mark.parametrize("seed", range(10))
def test_training(sound, tmp_path, seed):
    path = damaged(sound, tmp_path, seed)
    train = ["train", "--direction", "fwd", "--dtype", "fp16", str(path), "-o", str(tmp_path / "model.json")]
    assert main(train) in (ExitCode.OK, ExitCode.FAILED, ExitCode.INPUT)
