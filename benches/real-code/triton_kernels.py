"""Writes PTX (and LLVM IR) of a set of Triton kernels; needs no GPU.

usage: python3 triton_kernels.py OUT_FOLDER        (pip install triton)
Gives NAME.sm_XX.ptx and NAME.sm_XX.ll for every kernel and target.
"""
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * cols
    group = pid // per_group
    first = group * GROUP
    size = min(rows - first, GROUP)
    pm = first + (pid % per_group) % size
    pn = (pid % per_group) // size
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK * sak
        pb += BK * sbk
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * scm + on[None, :] * scn, acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = da.load([m, k * BK])
        y = db.load([n, k * BK])
        acc = tl.dot(x, y.T, acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def matmul_persistent_ws(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    cols = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * cols
    for tile in tl.range(tl.program_id(0), tiles, SMS, warp_specialize=True):
        m, n = (tile // cols) * BM, (tile % cols) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(da.load([m, k * BK]), db.load([n, k * BK]).T, acc)
        dc.store([m, n], acc.to(tl.float16))


@triton.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(out + row, tl.sum(acc))


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v))
    tl.store(out + row * n + i, e / tl.sum(e), mask=i < n)


@triton.jit
def layer_norm(x, y, w, b, mean, rstd, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + i, mask=i < n, other=0.0)
    mu = tl.sum(acc) / n
    var = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        d = tl.where(i < n, tl.load(x + row * n + i, mask=i < n, other=0.0) - mu, 0.0)
        var += d * d
    r = 1 / tl.sqrt(tl.sum(var) / n + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        m = i < n
        v = (tl.load(x + row * n + i, mask=m, other=0.0) - mu) * r
        tl.store(y + row * n + i, v * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


@triton.jit
def attention(q, k, v, o, scale, T, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * T * D
    m = start * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    x = tl.load(q + base + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (start + 1) * BM if CAUSAL else T
    for at in range(0, end, BN):
        j = at + n
        kk = tl.load(k + base + j[None, :] * D + d[:, None], mask=j[None, :] < T, other=0.0)
        s = tl.dot(x, kk) * scale
        keep = j[None, :] < T
        if CAUSAL:
            keep = keep & (m[:, None] >= j[None, :])
        s = tl.where(keep, s, -1.0e30)
        now = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        a = tl.exp2(top - now)
        norm = norm * a + tl.sum(p, 1)
        vv = tl.load(v + base + j[:, None] * D + d[None, :], mask=j[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.float16), vv, acc * a[:, None])
        top = now
    tl.store(o + base + m[:, None] * D + d[None, :], (acc / norm[:, None]).to(tl.float16), mask=m[:, None] < T)


@triton.jit
def locked_sum(x, out, lock, seen, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(seen) == 0:
        tl.atomic_xchg(seen, 1)
    else:
        v += tl.load(out + cols)
    tl.store(out + cols, v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(bins + (v & (BINS - 1)), 1, mask=i < n, sem="relaxed")


@triton.jit
def split_k_flags(x, part, out, flags, n, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    s = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for at in range(s * BLOCK, n, SPLITS * BLOCK):
        acc += tl.load(x + at + i, mask=at + i < n, other=0.0)
    tl.store(part + s * BLOCK + i, acc)
    tl.debug_barrier()
    last = tl.atomic_add(flags, 1, sem="acq_rel")
    if last == SPLITS - 1:
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(SPLITS):
            total += tl.load(part + k * BLOCK + i, cache_modifier=".cv")
        tl.store(out, tl.sum(total))


@triton.jit
def pair(a, b):
    return a + b


@triton.jit
def prefix(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    carry = 0.0
    for at in range(0, n, BLOCK):
        v = tl.load(x + at + i, mask=at + i < n, other=0.0)
        s = tl.associative_scan(v, 0, pair) + carry
        tl.store(out + at + i, s, mask=at + i < n)
        carry += tl.sum(v)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + i, tl.sort(tl.load(x + row * BLOCK + i)))


@triton.jit
def gather_two_phase(x, idx, tmp, out, n, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    i = base + tl.arange(0, BLOCK)
    tl.store(tmp + i, tl.load(x + i) * 2)
    tl.debug_barrier()
    j = tl.load(idx + i) % BLOCK
    tl.store(out + i, tl.load(tmp + base + j))


H, F, I = "*fp16", "*fp32", "*i32"
MM = {"a": H, "b": H, "c": H, "M": "i32", "N": "i32", "K": "i32"}
STRIDES = {s: "i32" for s in ("sam", "sak", "sbk", "sbn", "scm", "scn")}
# name, function, signature, constants, options
KERNELS = [
    ("matmul", matmul, {**MM, **STRIDES}, dict(BM=128, BN=128, BK=64, GROUP=8), dict(num_warps=8, num_stages=3)),
    ("matmul_small", matmul, {**MM, **STRIDES}, dict(BM=64, BN=64, BK=32, GROUP=8), dict(num_warps=4, num_stages=4)),
    ("matmul_tma", matmul_tma, MM, dict(BM=128, BN=128, BK=64), dict(num_warps=8, num_stages=3)),
    ("matmul_persistent_ws", matmul_persistent_ws, MM, dict(BM=128, BN=128, BK=64, SMS=132), dict(num_warps=4, num_stages=3)),
    ("row_sum", row_sum, dict(x=F, out=F, n="i32"), dict(BLOCK=1024), {}),
    ("softmax", softmax, dict(x=F, out=F, n="i32"), dict(BLOCK=4096), dict(num_warps=8)),
    ("layer_norm", layer_norm, dict(x=F, y=F, w=F, b=F, mean=F, rstd=F, n="i32", eps="fp32"), dict(BLOCK=1024), dict(num_warps=8)),
    ("attention", attention, dict(q=H, k=H, v=H, o=H, scale="fp32", T="i32"), dict(CAUSAL=False, D=64, BM=128, BN=64), dict(num_warps=8, num_stages=3)),
    ("attention_causal", attention, dict(q=H, k=H, v=H, o=H, scale="fp32", T="i32"), dict(CAUSAL=True, D=128, BM=64, BN=64), dict(num_warps=4, num_stages=2)),
    ("locked_sum", locked_sum, dict(x=F, out=F, lock=I, seen=I, n="i32"), dict(BLOCK=256), {}),
    ("histogram", histogram, dict(x=I, bins=I, n="i32"), dict(BLOCK=512, BINS=256), {}),
    ("split_k_flags", split_k_flags, dict(x=F, part=F, out=F, flags=I, n="i32"), dict(SPLITS=8, BLOCK=512), {}),
    ("prefix", prefix, dict(x=F, out=F, n="i32"), dict(BLOCK=1024), {}),
    ("sort_rows", sort_rows, dict(x=F, out=F), dict(BLOCK=512), {}),
    ("gather_two_phase", gather_two_phase, dict(x=F, idx=I, tmp=F, out=F, n="i32"), dict(BLOCK=512), {}),
]


def main(out):
    os.makedirs(out, exist_ok=True)
    failed = 0
    for arch in (80, 90, 100):
        for name, fn, types, constants, options in KERNELS:
            signature = {**types, **{k: "constexpr" for k in constants}}
            # pointers and the large sizes are multiples of 16, as a caller's tensors would be: needed for async copies and TMA
            attrs = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types.values()) if t.startswith("*") or t == "i32"}
            try:
                source = ASTSource(fn, signature, constexprs=constants, attrs=attrs)
                k = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
            except Exception as e:  # a kernel that needs a newer card is no reason to stop
                print(f"{name} sm_{arch}: {type(e).__name__}: {str(e).splitlines()[0][:160]}")
                failed += 1
                continue
            base = os.path.join(out, f"{name}.sm_{arch}")
            with open(base + ".ptx", "w") as f:
                f.write(k.asm["ptx"])
            with open(base + ".ll", "w") as f:
                f.write(k.asm["llir"])
            print(f"{name} sm_{arch}: {len(k.asm['ptx'])} bytes")
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("not compiled:", main(sys.argv[1]))
