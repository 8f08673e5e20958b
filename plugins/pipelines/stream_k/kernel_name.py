"""The name of a stream-K kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.pipelines._gemm.kernel_name import name_of_instance

if TYPE_CHECKING:
    from ckprof_plugins.pipelines.stream_k.instance import StreamKInstance


def kernel_name(instance: StreamKInstance) -> str:
    """Return the name of an instance's kernel, a C++ identifier."""
    return name_of_instance(
        instance,
        two_stage=instance.two_stage,
        stream_k_strategy=instance.strategy.word,
        stream_k_persistent=instance.persistent,
    )
