// case: mbarrier_ring_first_parity
// rule: mbarrier-phase
// also: wait-cycle
// h200: hangs
// where: both
// nvidia: hangs
// launch: block=160 grid=2
// why: the producer waits with the parity of the phase that has not ended instead of the one before, so it waits for consumers that have nothing to consume
#include <cstdio>
#include <cuda_runtime.h>
#include <cstdint>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
constexpr int kStages = 3, kTile = 256, kWarps = 4;
__device__ __forceinline__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(uint64_t *bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(bar)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(uint64_t *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(bar)) : "memory");
}
__device__ __forceinline__ void expect(uint64_t *bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(bar)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(uint64_t *bar, uint32_t parity) {
  uint32_t ok;
  do {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"  //~ mbarrier-phase
                 : "=r"(ok) : "r"(smem(bar)), "r"(parity) : "memory");  //~| the waiting operation
  } while (!ok);  //~| the waiting loop
}
__device__ __forceinline__ void copy(void *to, const void *from, uint32_t bytes, uint64_t *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(smem(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(smem(bar)) : "memory");
}
__global__ void ring(const int *in, int *out, int tiles) {
  __shared__ alignas(128) int buf[kStages][kTile];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(&full[s], 1);
      init(&empty[s], kWarps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (warp == kWarps) {
    if (lane == 0) {
      const int *src = in + blockIdx.x * tiles * kTile;
      uint32_t stage = 0, phase = 0;
#pragma unroll 1
      for (int k = 0; k < tiles; ++k) {
        wait(&empty[stage], phase);  //~| nobody has arrived in this phase
        expect(&full[stage], kTile * sizeof(int));
        copy(buf[stage], src + k * kTile, kTile * sizeof(int), &full[stage]);
        if (++stage == kStages) stage = 0, phase ^= 1;
      }
    }
  } else {
    int acc = 0;
    uint32_t stage = 0, phase = 0;
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      wait(&full[stage], phase);  //~| the consumers wait here
      acc += buf[stage][threadIdx.x * 2] * (k + 1) + buf[stage][255 - threadIdx.x];
      __syncwarp();
      if (lane == 0) arrive(&empty[stage]);
      if (++stage == kStages) stage = 0, phase ^= 1;
    }
    out[blockIdx.x * 128 + threadIdx.x] = acc;
  }
}
static int want(const int *in, int i) {
  int acc = 0, t = i % 128;
  for (int k = 0; k < 8; ++k) {
    const int *tile = in + (i / 128 * 8 + k) * 256;
    acc += tile[t * 2] * (k + 1) + tile[255 - t];
  }
  return acc;
}
int main() {
  static int h_in[4096], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 4096; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  ring<<<2, 160>>>(in, out, 8);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
