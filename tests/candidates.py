"""Instances under their final names, without a list."""

from ckprof.kernels.candidates import Candidate, KernelNames


def candidates_of(instances, pipelines):
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
