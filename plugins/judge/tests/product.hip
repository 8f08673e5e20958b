// SPDX-License-Identifier: MIT
// A product in the layout rcr, one element of the result per work-item; with RACE, half of a sum
// each.
#ifdef RACE
extern __attribute__((shared)) float own[];
#define PARTS 2
#else
#define PARTS 1
#endif

extern "C" __attribute__((global))
__attribute__((amdgpu_flat_work_group_size(64, 128))) void product(
    const _Float16* a, const _Float16* b, _Float16* e, int M, int N, int K, int la, int lb, int le)
{
    const int lane = __builtin_amdgcn_workitem_id_x();
    const long at  = static_cast<long>(__builtin_amdgcn_workgroup_id_x()) * 64 + lane % 64;
    if(at >= static_cast<long>(M) * N) return;
    const long m = at / N, n = at % N;
    float sum = 0;
    for(int k = lane / 64; k < K; k += PARTS)
        sum += static_cast<float>(a[m * la + k]) * static_cast<float>(b[n * lb + k]);
#ifdef RACE
    own[lane] = sum; // the other wave reads it without waiting
    if(lane >= 64) return;
    sum = own[lane] + own[lane + 64];
#endif
    e[m * le + n] = static_cast<_Float16>(sum);
}
