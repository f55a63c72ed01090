// The same kernels in CUDA C++, with the same checks of their indices.
#include <cuda/atomic>

#define WITHIN(i, length) do { if ((i) >= (length)) __trap(); } while (0)
using device_atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
using tile_atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;
constexpr auto relaxed = cuda::memory_order_relaxed;
using length_t = unsigned long long;

extern "C" __global__ void multiply(unsigned* numbers, unsigned mask, unsigned rounds, length_t length, unsigned, unsigned, unsigned) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned at = (((x + round * 7919u) * 2654435761u) >> 7) & mask;
        WITHIN(at, length);
        device_atomic number(numbers[at]);
        unsigned old = number.load(relaxed);
        while (!number.compare_exchange_strong(old, old * 3, relaxed)) {}
    }
}

extern "C" __global__ void saxpy(const float* x, float* y, float a, length_t nx, length_t ny, unsigned, unsigned, unsigned) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)nx; i += gridDim.x * blockDim.x) {
        WITHIN(i, nx); WITHIN(i, ny);
        y[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
    }
}

extern "C" __global__ void dot(const float* x, const float* y, float* sum, length_t nx, length_t ny, length_t ns, unsigned, unsigned, unsigned) {
    float own = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)nx; i += gridDim.x * blockDim.x) {
        WITHIN(i, nx); WITHIN(i, ny);
        own = __fadd_rn(own, __fmul_rn(x[i], y[i]));
    }
    for (int distance = 16; distance; distance /= 2) own += __shfl_xor_sync(~0u, own, distance);
    if (threadIdx.x % 32 == 0) { WITHIN(0ull, ns); atomicAdd(sum, own); }
}

extern "C" __global__ void histogram(const unsigned char* text, unsigned* counts, length_t nt, length_t nc, unsigned, unsigned, unsigned) {
    __shared__ unsigned own[256];
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) tile_atomic(own[bin]).store(0, relaxed);
    __syncthreads();
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < (unsigned)nt; at += gridDim.x * blockDim.x) {
        WITHIN(at, nt);
        tile_atomic(own[text[at]]).fetch_add(1, relaxed);
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        WITHIN(bin, nc);
        device_atomic(counts[bin]).fetch_add(tile_atomic(own[bin]).load(relaxed), relaxed);
    }
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned side, length_t na, length_t nb, length_t nc, unsigned, unsigned, unsigned) {
    __shared__ float left[16][16], right[16][16];
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (unsigned step = 0; step < side / 16; ++step) {
        unsigned i = y * side + step * 16 + threadIdx.x, j = (step * 16 + threadIdx.y) * side + x;
        WITHIN(i, na); WITHIN(threadIdx.y, 16); WITHIN(threadIdx.x, 16);
        left[threadIdx.y][threadIdx.x] = a[i];
        WITHIN(j, nb);
        right[threadIdx.y][threadIdx.x] = b[j];
        __syncthreads();
        for (unsigned k = 0; k < 16; ++k) sum = __fadd_rn(sum, __fmul_rn(left[threadIdx.y][k], right[k][threadIdx.x]));
        __syncthreads();
    }
    unsigned i = y * side + x;
    WITHIN(i, nc);
    c[i] = sum;
}
