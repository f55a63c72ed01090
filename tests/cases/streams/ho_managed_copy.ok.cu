// case: ho_managed_copy
// rule: none
// why: a synchronous copy into managed memory has returned before the host reads it, and with it the kernel before it
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
  if (i < n) p[i] = 8 * i;
}

int main() {
  const int n = 1600;
  int *d_p, *seen, *kept;
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMallocManaged(&seen, n * sizeof(int)));
  CK(cudaMallocManaged(&kept, n * sizeof(int)));
  fill<<<(n + 255) / 256, 256>>>(kept, n);
  fill<<<(n + 255) / 256, 256>>>(d_p, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(seen, d_p, n * sizeof(int), cudaMemcpyDeviceToHost));
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += seen[i] != 8 * i || kept[i] != 8 * i;
  for (int *p : {d_p, seen, kept}) CK(cudaFree(p));
  return verdict(n, bad);
}
