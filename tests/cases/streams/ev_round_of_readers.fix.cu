// case: ev_round_of_readers
// rule: none
// why: one event tells four readers, each has one of its own for the writer, and all are recorded again in every round
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
  const int n = 2600, grid = (n + 127) / 128, readers = 4, rounds = 3;
  int *d_p, *d_q, *h_q;
  cudaStream_t writer, s[readers];
  cudaEvent_t filled, drained[readers];
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMalloc(&d_q, readers * n * sizeof(int)));
  CK(cudaMallocHost(&h_q, readers * n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  for (int k = 0; k < readers; ++k) {
    CK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&drained[k], cudaEventDisableTiming));
  }

  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < readers && round > 0; ++k) CK(cudaStreamWaitEvent(writer, drained[k], 0));
    put<<<grid, 128, 0, writer>>>(d_p, n, round);
    CK(cudaEventRecord(filled, writer));
    for (int k = 0; k < readers; ++k) {
      CK(cudaStreamWaitEvent(s[k], filled, 0));
      plus<<<grid, 128, 0, s[k]>>>(d_p, d_q + k * n, n, k);
      CK(cudaEventRecord(drained[k], s[k]));
    }
  }
  for (int k = 0; k < readers; ++k) {
    CK(cudaMemcpyAsync(h_q + k * n, d_q + k * n, n * sizeof(int), cudaMemcpyDeviceToHost, s[k]));
    CK(cudaStreamSynchronize(s[k]));
  }

  long bad = 0;
  for (int k = 0; k < readers; ++k)
    for (int i = 0; i < n; ++i) bad += h_q[k * n + i] != i + rounds - 1 + k;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(d_p));
  CK(cudaFree(d_q));
  CK(cudaFreeHost(h_q));
  return verdict(readers * n, bad);
}
