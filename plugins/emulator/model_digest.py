"""What a predicted time depends on besides the machine code, as a digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.kernels.keys import FolderDigests, digest_parts
from ckprof_plugins.emulator.library import SOURCE_DIR
from ckprof_plugins.emulator.tables import table, unit_table

if TYPE_CHECKING:
    from ckprof_plugins.emulator.tables import DeviceModel

#: modules that turn what the device says into times
_MODULES: Final = ("child.py", "predicted_time.py", "prediction.py", "tables.py")


def model_digest(arch: str, model: DeviceModel) -> str:
    """Return the digest of the time model for a product, in 16 hexadecimal digits.

    Figures with another digest are not comparable. It depends on the sources of the emulated device, on its
    tables and on the product, but not on the compiler that the emulated device is built with: each of its
    operations rounds by itself.

    :param arch: of the product, without features.
    """
    modules = (Path(__file__).with_name(name).read_bytes() for name in _MODULES)
    numbers = msgspec.json.encode((table()["device"], model))
    return digest_parts(unit_table(arch), numbers, FolderDigests(None).of(SOURCE_DIR), *modules)[:16]
