"""Lines to convert, and a converter with the families that ship with ckprof."""

from pathlib import Path

import pytest

from ckprof.errors import ListError
from ckprof.model.conversion import ConversionRequest
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES

from .samples import as_bytes


@pytest.fixture(scope="session")
def converter():
    return ConfConverter(FAMILIES)


@pytest.fixture(scope="session")
def convert(converter):
    """Convert lines (or bytes) that stand in a file called ``name``."""

    def run(*lines, name="list.conf", **request):
        data = lines[0] if isinstance(lines[0], bytes) else as_bytes(*lines)
        return converter.convert(ConversionRequest(path=Path(name), data=data, **request))

    return run


@pytest.fixture(scope="session")
def errors_of(convert):
    """Return the diagnostics of a conversion that must fail, as text."""

    def run(*lines, **request):
        with pytest.raises(ListError) as caught:
            convert(*lines, **request)
        return [str(diagnostic) for diagnostic in caught.value.diagnostics]

    return run
