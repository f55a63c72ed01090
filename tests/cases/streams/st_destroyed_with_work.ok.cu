// case: st_destroyed_with_work
// rule: none
// why: streams are made and destroyed in every round while their work is not done; the device is waited for before anything is read
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
  const int n = 2400, grid = (n + 127) / 128, rounds = 12;
  int *d_p, *h_p;
  CK(cudaMalloc(&d_p, rounds * n * sizeof(int)));
  CK(cudaMallocHost(&h_p, rounds * n * sizeof(int)));
  for (int round = 0; round < rounds; ++round) {
    cudaStream_t s;
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    put<<<grid, 128, 0, s>>>(d_p + round * n, n, round);
    plus<<<grid, 128, 0, s>>>(d_p + round * n, d_p + round * n, n, 6);
    CK(cudaMemcpyAsync(h_p + round * n, d_p + round * n, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    CK(cudaStreamDestroy(s));
  }
  CK(cudaDeviceSynchronize());

  long bad = 0;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < n; ++i) bad += h_p[round * n + i] != i + round + 6;
  CK(cudaFree(d_p));
  CK(cudaFreeHost(h_p));
  return verdict(rounds * n, bad);
}
