// case: ho_across_pages
// rule: host-read-before-sync
// why: the first half of the buffer is done, the copy of the second may still run: memcpy takes sixteen bytes across the border
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

static int verdict(long n, long bad) {
  std::printf("elements=%ld mismatches=%ld\n", n, bad);
  return bad == 0 ? 0 : 2;
}

__global__ void tile(int *p, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = first + i;
}

int main() {
  const int n = 2048, half = n / 2;
  int *d_p, *h_p, seam[4];
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMalloc(&d_p, n * sizeof(int)));
  CK(cudaMallocHost(&h_p, n * sizeof(int)));
  for (int i = 0; i < n; ++i) h_p[i] = -1;

  tile<<<n / 256, 256, 0, s>>>(d_p, n, 100);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_p, d_p, half * sizeof(int), cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpyAsync(h_p + half, d_p + half, half * sizeof(int), cudaMemcpyDeviceToHost, s));  //~| copy-to-host
  std::memcpy(seam, h_p + half - 2, sizeof seam);  //~ host-read-before-sync
  CK(cudaDeviceSynchronize());

  long bad = 0;
  for (int i = 0; i < 4; ++i) bad += seam[i] != 100 + half - 2 + i;
  for (int i = 0; i < n; ++i) bad += h_p[i] != 100 + i;
  CK(cudaStreamDestroy(s));
  CK(cudaFree(d_p));
  CK(cudaFreeHost(h_p));
  return verdict(n, bad);
}
