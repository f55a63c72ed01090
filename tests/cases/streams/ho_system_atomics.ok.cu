// case: ho_system_atomics
// rule: none
// why: a kernel counts its progress by atomics of system scope, which the host polls; then it reads what the kernel before it in the stream has written
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

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
  if (i < n) p[i] = i - 9;
}

__global__ void tick(int *progress) { atomicAdd_system(progress, 1); }

int main() {
  const int n = 1500;
  int *cells, *progress;
  CK(cudaMallocManaged(&cells, n * sizeof(int)));
  CK(cudaMallocManaged(&progress, sizeof(int)));
  *progress = 0;
  fill<<<(n + 255) / 256, 256>>>(cells, n);
  tick<<<1, 32>>>(progress);
  CK(cudaGetLastError());
  while (__atomic_load_n(progress, __ATOMIC_ACQUIRE) < 32) usleep(100);
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += cells[i] != i - 9;
  CK(cudaDeviceSynchronize());
  CK(cudaFree(cells));
  CK(cudaFree(progress));
  return verdict(n, bad);
}
