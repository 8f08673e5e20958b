"""``--pad-channels``: kernels whose launchers pad channels with zeros to what their vectors need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import UsageError
from ckprof.sanitize import unknown_name
from ckprof_plugins.pipelines.vocabulary import ChannelPadding

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from ckprof.model.instance import Instance

OPTION: Final = "--pad-channels"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        OPTION,
        choices=tuple(padding.value for padding in ChannelPadding),
        help="pad C and K with zeros to what each kernel's vectors need; copies are part of its time, or not "
        "(default: what does not fit is not supported)",
    )


def pad(instances: list[Instance], arguments: Mapping[str, Any]) -> None:
    """Put kernels that pad in the place of those that can, if the option is used.

    :raises UsageError: its value is unknown.
    """
    wanted = arguments.get("pad_channels")
    if wanted is None:
        return
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance

    known = {padding.value: padding for padding in ChannelPadding}
    if wanted not in known:
        raise UsageError(unknown_name(f"value of {OPTION}", str(wanted), known))
    for position, instance in enumerate(instances):
        if isinstance(instance, GemmInstance) and instance.can_pad_channels:
            instances[position] = replace(instance, channel_padding=known[wanted])
