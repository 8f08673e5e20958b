"""The C interface of kernel libraries as ctypes sees it: ``ckprof_conv_api.h``, for its tests."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_size_t, c_void_p
from typing import ClassVar

from ckprof.measure.worker.abi import CBuffers, CProblem


class ConvProblemC(ctypes.Structure):
    """``ConvProblemC`` of CK Tile's dispatcher; C and K count the channels of all groups."""

    _fields_: ClassVar = [
        (name, c_int)
        for name in (
            *("N", "G", "C", "K", "input_d", "input_h", "input_w", "filter_z", "filter_y", "filter_x"),
            *("stride_d", "stride_h", "stride_w", "pad_d", "pad_h", "pad_w"),
            *("dilation_d", "dilation_h", "dilation_w", "direction", "split_k"),
        )
    ]


class ConvBwdwProblemC(ctypes.Structure):
    """``ConvBwdwProblemC``: the same without the direction."""

    _fields_: ClassVar = [field for field in ConvProblemC._fields_ if field[0] != "direction"]


class CTiming(ctypes.Structure):
    """``ckprof_conv_timing``."""

    _fields_: ClassVar = [("warmup", c_int), ("repeat", c_int), ("median", c_int), ("flush_bytes", c_size_t)]


#: Function -> (result, arguments).
_FUNCTIONS = {
    "conv_dispatcher_init": (c_int, []),
    "conv_dispatcher_cleanup": (c_int, []),
    "conv_dispatcher_version": (c_char_p, []),
    "conv_dispatcher_has_kernels": (c_int, []),
    "conv_dispatcher_has_bwd_data": (c_int, []),
    "conv_dispatcher_has_bwd_weight": (c_int, []),
    "conv_dispatcher_get_kernel_count": (c_int, []),
    "conv_dispatcher_get_kernel_name": (c_int, [c_int, c_char_p, c_int]),
    "conv_dispatcher_is_supported": (c_bool, [POINTER(ConvProblemC)]),
    "conv_dispatcher_select_kernel": (c_int, [POINTER(ConvProblemC), c_char_p, c_int]),
    "conv_dispatcher_run": (c_float, [c_void_p, c_void_p, c_void_p, POINTER(ConvProblemC), c_void_p]),
    "ckprof_conv_set_timing": (c_int, [POINTER(CTiming)]),
    "ckprof_conv_select_index": (c_int, [c_int]),
    "ckprof_conv_select_name": (c_int, [c_char_p]),
    "ckprof_conv_direction": (c_char_p, []),
    "ckprof_conv_arch": (c_char_p, []),
    "ckprof_conv_buffer": (c_int, [c_int]),
    "ckprof_conv_kernel_count": (c_int, []),
    "ckprof_conv_kernel_name": (c_char_p, [c_int]),
    "ckprof_conv_kernel_key": (c_char_p, [c_int]),
    "ckprof_conv_kernel_fields": (c_char_p, [c_int]),
    "ckprof_conv_instance_string": (c_int, [c_int, c_char_p, c_size_t]),
    "ckprof_conv_find_kernel": (c_int, [c_char_p]),
    "ckprof_conv_is_supported": (c_int, [c_int, POINTER(CProblem), c_char_p, c_size_t]),
    "ckprof_conv_run": (
        c_float,
        [c_int, POINTER(CProblem), POINTER(CBuffers), POINTER(CTiming), c_char_p, c_size_t],
    ),
    "ckprof_conv_select_device": (c_int, [c_char_p, c_int, c_char_p, c_size_t]),
    "ckprof_conv_describe_device": (c_int, [c_char_p, c_size_t]),
    "ckprof_conv_allocate": (c_void_p, [c_size_t]),
    "ckprof_conv_release": (None, [c_void_p]),
    "ckprof_conv_copy_to_device": (c_int, [c_void_p, c_void_p, c_size_t]),
    "ckprof_conv_copy_to_host": (c_int, [c_void_p, c_void_p, c_size_t]),
}

#: the same, of functions that only some libraries have
_FURTHER_FUNCTIONS = {
    "conv_bwdw_init": (c_int, []),
    "conv_bwdw_cleanup": (None, []),
    "conv_bwdw_version": (c_char_p, []),
    "conv_bwdw_has_kernels": (c_int, []),
    "conv_bwdw_get_kernel_count": (c_int, []),
    "conv_bwdw_get_kernel_name": (c_int, [c_int, c_char_p, c_int]),
    "conv_bwdw_run": (c_float, [c_void_p, c_void_p, c_void_p, POINTER(ConvBwdwProblemC), c_void_p]),
}


def load(path):
    """Load a library and declare its functions.

    :raises OSError: it cannot be loaded.
    :raises AttributeError: it lacks a function.
    """
    # The full path: a bare name would be searched for in the system's library folders.
    binary = ctypes.CDLL(str(path.resolve()))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(binary, name)
        function.restype = result
        function.argtypes = arguments
    for name, (result, arguments) in _FURTHER_FUNCTIONS.items():
        if hasattr(binary, name):
            function = getattr(binary, name)
            function.restype = result
            function.argtypes = arguments
    return binary
