"""Instances under their final names, without a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.kernels.candidates import Candidate, KernelNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import Pipeline


def candidates_of(instances: Iterable[Instance], pipelines: Mapping[str, Pipeline]) -> list[Candidate]:
    """Return instances as candidates, numbered in their order.

    :param pipelines: by id.
    """
    names = KernelNames()
    return [
        Candidate(
            index=index,
            instance=instance,
            pipeline=pipelines[instance.pipeline],
            name=names.take(pipelines[instance.pipeline].kernel_name(instance), instance),
            source="test",
        )
        for index, instance in enumerate(instances)
    ]
