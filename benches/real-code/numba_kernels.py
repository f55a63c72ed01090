"""Writes PTX of a set of Numba CUDA kernels; needs no GPU.

usage: python3 numba_kernels.py OUT_FOLDER     (pip install numba numba-cuda nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-runtime)
Gives NAME.sm_90.ptx for every kernel, and NAME.sm_90.lineinfo.ptx where Numba can give line tables.
"""
import os
import sys

from numba import cuda, float32, float64, int32, int64, uint32, void

TPB = 128
TILE = 16


def scale_guarded(x, y, a):
    i = cuda.grid(1)
    if i >= x.size:
        return
    y[i] = a * x[i]


def block_sum(x, out):
    s = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    acc = float32(0.0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        acc += x[i]
    s[t] = acc
    cuda.syncthreads()
    d = TPB // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def matmul_tiled(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0.0)
    for k in range((a.shape[1] + TILE - 1) // TILE):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and tx + k * TILE < a.shape[1]:
            sa[ty, tx] = a[y, tx + k * TILE]
        if x < b.shape[1] and ty + k * TILE < b.shape[0]:
            sb[ty, tx] = b[ty + k * TILE, x]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = acc


def warp_max(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else -2147483647
    for o in (16, 8, 4, 2, 1):
        w = cuda.shfl_down_sync(0xFFFFFFFF, v, o)
        v = max(v, w)
    if cuda.laneid == 0:
        cuda.atomic.max(out, 0, v)


def histogram_shared(x, bins):
    s = cuda.shared.array(256, int32)
    for j in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        s[j] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i] & 255, 1)
    cuda.syncthreads()
    for j in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        if s[j] > 0:
            cuda.atomic.add(bins, j, s[j])


def ballot_compact(x, out, count):
    i = cuda.grid(1)
    keep = i < x.size and x[i] > 0
    mask = cuda.ballot_sync(0xFFFFFFFF, keep)
    lane = cuda.laneid
    base = 0
    if lane == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(mask))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    if keep:
        out[base + cuda.popc(mask & ((1 << lane) - 1))] = x[i]


def syncthreads_votes(x, out, limit):
    t = cuda.threadIdx.x
    v = x[cuda.grid(1)]
    step = 0
    while cuda.syncthreads_or(int32(v < limit)):
        v = v + t + 1
        step += 1
        if step > 1000:
            break
    n = cuda.syncthreads_count(int32(v > 2 * limit))
    if cuda.syncthreads_and(int32(v > 0)):
        out[cuda.grid(1)] = v + n


def locked_append(lock, head, values, x):
    i = cuda.grid(1)
    if cuda.threadIdx.x != 0 or i >= x.size:
        return
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        cuda.nanosleep(uint32(100))
    cuda.threadfence()
    at = head[0]
    values[at] = x[i]
    head[0] = at + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def early_return_sum(x, out):
    s = cuda.shared.array(TPB, float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i >= x.size:
        return
    s[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        acc = 0.0
        for k in range(min(TPB, x.size - i)):
            acc += s[k]
        out[cuda.blockIdx.x] = acc


V = lambda t: t[::1]
KERNELS = [
    (scale_guarded, void(V(float32), V(float32), float32)),
    (block_sum, void(V(float32), V(float32))),
    (matmul_tiled, void(float32[:, ::1], float32[:, ::1], float32[:, ::1])),
    (warp_max, void(V(int32), V(int32))),
    (histogram_shared, void(V(int32), V(int32))),
    (ballot_compact, void(V(int32), V(int32), V(int32))),
    (syncthreads_votes, void(V(int32), V(int32), int32)),
    (locked_append, void(V(int32), V(int32), V(int64), V(int64))),
    (early_return_sum, void(V(float64), V(float64))),
]


def main(out):
    os.makedirs(out, exist_ok=True)
    failed = 0
    for kernel, signature in KERNELS:
        for suffix, options in (("", {}), (".lineinfo", {"lineinfo": True})):
            try:
                ptx, _ = cuda.compile_ptx(kernel, signature, cc=(9, 0), **options)
            except Exception as e:
                print(f"{kernel.__name__}{suffix}: {type(e).__name__}: {str(e).strip().splitlines()[-1][:200]}")
                failed += 1
                continue
            with open(os.path.join(out, f"{kernel.__name__}.sm_90{suffix}.ptx"), "w") as f:
                f.write(ptx)
            print(f"{kernel.__name__}{suffix}: {len(ptx)} bytes")
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("not compiled:", main(sys.argv[1]))
