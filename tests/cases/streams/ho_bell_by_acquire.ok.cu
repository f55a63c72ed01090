// case: ho_bell_by_acquire
// rule: none
// why: the kernel waits for the host by an acquire of system scope before it reads what the host has written
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CK(call)                                                                    \
  do {                                                                              \
    cudaError_t err_ = (call);                                                      \
    if (err_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

__global__ void triple(int *bell, const int *in, int *out) {
  if (threadIdx.x == 0) {
    int rung;
    do {
      asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(rung) : "l"(bell) : "memory");
    } while (rung == 0);
  }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x] * 3;
}

int main() {
  const int n = 64;
  int *shared, *device, *result, got[n], bad = 0;
  CK(cudaHostAlloc(&shared, 4096, cudaHostAllocMapped));
  std::memset(shared, 0, 4096);
  CK(cudaHostGetDevicePointer(&device, shared, 0));
  CK(cudaMalloc(&result, sizeof got));
  triple<<<1, n>>>(device, device + n, result);
  for (int i = 0; i < n; ++i) shared[n + i] = i;
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  CK(cudaMemcpy(got, result, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += got[i] != 3 * i;
  CK(cudaFreeHost(shared));
  CK(cudaFree(result));
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
