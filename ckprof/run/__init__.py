"""Running, verifying and timing the kernels of a library, in child processes.

:mod:`~ckprof.run.schedule` and :mod:`~ckprof.run.instance_strings`
are the entry points. The parent process consists
of them and of ``executor``, ``process``, ``prepare``, ``operands``, ``tolerance`` and ``lock``; the worker
process of ``worker``, ``library``, ``memory``, ``measure``, ``verify`` and ``timing``. They share
``messages``.
"""
