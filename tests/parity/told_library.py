"""Kernel libraries whose kernels say what they are told to say; they can do nothing else."""

import json
import subprocess

from tests.measure.fakes import ABI_FOLDER, find_compiler

_SOURCE = """\
#include "ckprof_abi.h"

#include <cstdio>
#include <utility>

namespace {

constexpr const char* keys[]  = {%(keys)s};
constexpr const char* texts[] = {%(texts)s};
constexpr size_t count        = sizeof(keys) / sizeof(keys[0]);

template <size_t index>
ckprof_status say(char* text, size_t size)
{
    if(texts[index] == nullptr) return CKPROF_FAILED;
    std::snprintf(text, size, "%%s", texts[index]);
    return CKPROF_OK;
}

template <size_t... index>
const ckprof_library* make(std::index_sequence<index...>)
{
    static const ckprof_kernel kernels[]        = {{keys[index], "told", nullptr, say<index>, nullptr}...};
    static const ckprof_kernel* const pointers[] = {&kernels[index]...};
    static const ckprof_target target            = {"told"};
    static const ckprof_library library = {CKPROF_ABI_VERSION, count, pointers, &target};
    return &library;
}

} // namespace

extern "C" const ckprof_library* ckprof_get_library(void)
{ return make(std::make_index_sequence<count>{}); }
"""


def build_told_library(path, texts):
    """Compile a library with one kernel per key; ``None`` for one that fails to answer."""
    compiler = find_compiler()
    assert compiler is not None
    words = {
        "keys": ", ".join(json.dumps(key) for key in texts),
        "texts": ", ".join("nullptr" if text is None else json.dumps(text) for text in texts.values()),
    }
    source = path.with_suffix(".cpp")
    source.write_text(_SOURCE % words)
    command = [compiler, "-std=c++20", "-O0", "-w", "-shared", "-fPIC", f"-I{ABI_FOLDER}"]
    subprocess.run([*command, str(source), "-o", str(path)], check=True)
    return path
