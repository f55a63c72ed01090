// case: ev_made_anew
// rule: wait-unrecorded
// why: the new event of each round is waited for without ever being recorded
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
  const int n = 3000, grid = (n + 127) / 128, rounds = 5;
  int *d_p, *d_q, *h_q;
  cudaStream_t s1, s2;
  CK(cudaMalloc(&d_p, rounds * n * sizeof(int)));
  CK(cudaMalloc(&d_q, rounds * n * sizeof(int)));
  CK(cudaMallocHost(&h_q, rounds * n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));

  for (int round = 0; round < rounds; ++round) {
    cudaEvent_t event;
    CK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    put<<<grid, 128, 0, s1>>>(d_p + round * n, n, round);  //~| written
    CK(cudaStreamWaitEvent(s2, event, 0));
    plus<<<grid, 128, 0, s2>>>(d_p + round * n, d_q + round * n, n, 3);  //~ wait-unrecorded
    CK(cudaEventDestroy(event));
  }
  CK(cudaMemcpyAsync(h_q, d_q, rounds * n * sizeof(int), cudaMemcpyDeviceToHost, s2));
  CK(cudaStreamSynchronize(s2));

  long bad = 0;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < n; ++i) bad += h_q[round * n + i] != i + round + 3;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(rounds * n, bad);
}
