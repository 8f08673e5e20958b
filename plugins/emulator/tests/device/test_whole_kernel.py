"""A matrix product as kernels compute it: LDS, barriers, MFMA, sums by atomics, workgroups on threads."""

import numpy as np
import pytest

from plugins.emulator.tests.device.hip import Hip

pytestmark = [pytest.mark.amd]

M, N, K, SPLITS = 192, 128, 96, 3
#: workgroups of 2x2 waves compute 64x64 of the result, each for a part of K
SOURCE = f"""
typedef _Float16 half;
typedef half half4 __attribute__((ext_vector_type(4)));
typedef float floats __attribute__((ext_vector_type(16)));
constexpr int M = {M}, N = {N}, K = {K}, depth = K / {SPLITS};

extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256)))
void k(float* c, const half* a, const half* b, u32* done)
{{
    SHARED half tile_a[64][16], tile_b[64][16];
    const int t = LANE, lane = t % 64, wave = t / 64, group = GROUP;
    const int row0 = group % (M / 64) * 64, column0 = group / (M / 64) % (N / 64) * 64;
    const int begin = group / (M / 64 * (N / 64)) * depth;
    const int row = wave / 2 * 32, column = wave % 2 * 32;
    floats sum = {{}};
    for(int k0 = begin; k0 < begin + depth; k0 += 16)
    {{
        const int r = t / 4, d = t % 4 * 4;
        *(half4*)&tile_a[r][d] = *(const half4*)&a[(row0 + r) * K + k0 + d];
        *(half4*)&tile_b[r][d] = *(const half4*)&b[(column0 + r) * K + k0 + d];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        for(int step = 0; step < 16; step += 8)
        {{
            const int at = step + lane / 32 * 4;
            const half4 x = *(half4*)&tile_a[row + lane % 32][at];
            const half4 y = *(half4*)&tile_b[column + lane % 32][at];
            sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
        }}
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }}
    for(int i = 0; i < 16; ++i)
    {{
        const int r = row0 + row + i / 4 * 8 + lane / 32 * 4 + i % 4;
        __hip_atomic_fetch_add(
            &c[r * N + column0 + column + lane % 32], sum[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }}
    if(t == 0) __hip_atomic_fetch_add(done, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}}
"""


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("checks", ["", "races,uninitialised,waits,bounds,barriers"])
def test_a_matrix_product(monkeypatch, seed, checks):
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "4")
    monkeypatch.setenv("CKPROF_EMULATED_SEED", str(seed))
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", checks)
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(-3, 4, (rows, K)).astype(np.float16) for rows in (M, N))
    hip = Hip()
    groups = M // 64 * (N // 64) * SPLITS
    done = hip.upload(np.zeros(1, np.uint32))
    result = hip.run(SOURCE, M * N, hip.upload(a), hip.upload(b), done, grid=(groups,), block=(256,))
    assert np.array_equal(result.view(np.float32).reshape(M, N), a.astype(float) @ b.astype(float).T)
    assert hip.download(done, 1).tolist() == [groups]
