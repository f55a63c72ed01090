// case: lt_pool_handed_on
// rule: none
// why: memory of a pool goes from the stream that allocates it to the one that reads it and frees it, in every round anew
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CK(call)                                                                    \
  do {                                                                              \
    cudaError_t err_ = (call);                                                      \
    if (err_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

static int verdict(long n, long bad) {
  std::printf("elements=%ld mismatches=%ld\n", n, bad);
  return bad == 0 ? 0 : 2;
}

__global__ void put(int *p, int n, int base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i + base;
}

__global__ void plus(const int *p, int *q, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i] + by;
}

int main() {
  const int n = 2700, grid = (n + 127) / 128, rounds = 4;
  int *d_q, *h_q;
  cudaStream_t s1, s2;
  cudaEvent_t filled;
  CK(cudaMalloc(&d_q, rounds * n * sizeof(int)));
  CK(cudaMallocHost(&h_q, rounds * n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));

  for (int round = 0; round < rounds; ++round) {
    int *d_p;
    CK(cudaMallocAsync(&d_p, n * sizeof(int), s1));
    put<<<grid, 128, 0, s1>>>(d_p, n, round);
    CK(cudaEventRecord(filled, s1));
    CK(cudaStreamWaitEvent(s2, filled, 0));
    plus<<<grid, 128, 0, s2>>>(d_p, d_q + round * n, n, 9);
    CK(cudaFreeAsync(d_p, s2));
  }
  CK(cudaMemcpyAsync(h_q, d_q, rounds * n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CK(cudaStreamSynchronize(s2));

  long bad = 0;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < n; ++i) bad += h_q[round * n + i] != i + round + 9;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(rounds * n, bad);
}
