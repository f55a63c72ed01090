// case: ho_flag_and_payload
// rule: none
// why: the kernel tells the host by a volatile flag behind a fence of system scope that its payload is there; the host polls the flag and reads the payload while the kernel goes on
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

__global__ void serve(volatile int *payload, volatile int *flag, volatile int *leave, int n) {
  int i = threadIdx.x;
  if (i < n) payload[i] = 5 * i;
  __threadfence_system();
  __syncthreads();
  if (i == 0) {
    *flag = 1;
    while (*leave == 0) {
    }
  }
}

int main() {
  const int n = 64;
  int *box, *d_box;
  CK(cudaHostAlloc(&box, 8192, cudaHostAllocMapped));
  CK(cudaHostGetDevicePointer(&d_box, box, 0));
  for (int i = 0; i < 2048; ++i) box[i] = 0;
  volatile int *flag = box + 1024, *leave = box + 1025;
  serve<<<1, n>>>(d_box, d_box + 1024, d_box + 1025, n);
  CK(cudaGetLastError());
  while (*flag == 0) usleep(100);
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += box[i] != 5 * i;
  *leave = 1;
  CK(cudaDeviceSynchronize());
  CK(cudaFreeHost(box));
  return verdict(n, bad);
}
