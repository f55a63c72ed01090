// case: ho_polled_by_query
// rule: none
// why: the host asks for the event until it is reached, and only then reads
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

__global__ void fill(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = 11 * i;
}

int main() {
  const int n = 900;
  int *cells;
  cudaStream_t producer, other;
  cudaEvent_t ready, behind;
  CK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&behind, cudaEventDisableTiming));
  CK(cudaMallocManaged(&cells, n * sizeof(int)));
  fill<<<(n + 255) / 256, 256, 0, producer>>>(cells, n);
  CK(cudaGetLastError());
  CK(cudaEventRecord(ready, producer));
  CK(cudaStreamWaitEvent(other, ready, 0));
  CK(cudaEventRecord(behind, other));
  cudaError_t asked;
  while ((asked = cudaEventQuery(behind)) == cudaErrorNotReady) {
  }
  CK(asked);
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += cells[i] != 11 * i;
  for (cudaEvent_t e : {ready, behind}) CK(cudaEventDestroy(e));
  for (cudaStream_t s : {producer, other}) CK(cudaStreamDestroy(s));
  CK(cudaFree(cells));
  return verdict(n, bad);
}
