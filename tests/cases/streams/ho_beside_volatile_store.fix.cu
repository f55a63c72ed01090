// case: ho_beside_volatile_store
// rule: none
// why: the main thread waits for the stream
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

__global__ void squares(int *out, volatile int *progress, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i * i;
  if (threadIdx.x == 0) *progress = static_cast<int>(blockIdx.x);
}

int main() {
  const int n = 1024;
  int *out;
  volatile int *progress;
  cudaStream_t work;
  CK(cudaHostAlloc(&out, n * sizeof(int), cudaHostAllocMapped));
  CK(cudaHostAlloc((void **)&progress, sizeof(int), cudaHostAllocMapped));
  *progress = 0;
  CK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  squares<<<n / 256, 256, 0, work>>>(out, progress, n);
  CK(cudaGetLastError());
  CK(cudaStreamSynchronize(work));
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += out[i] != i * i;
  CK(cudaStreamDestroy(work));
  CK(cudaFreeHost((void *)progress));
  CK(cudaFreeHost(out));
  return verdict(n, bad);
}
