// case: ho_written_to_file
// rule: host-read-before-sync
// why: write() takes the result from the buffer while the asynchronous copy may still write it
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

__global__ void stamp(unsigned char *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = (unsigned char)(i % 251);
}

int main() {
  const int n = 2000;
  unsigned char *d_p, *h_p;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMalloc(&d_p, n));
  CK(cudaMallocHost(&h_p, n));
  int ends[2];
  if (pipe(ends) != 0) return 1;

  stamp<<<(n + 255) / 256, 256, 0, s>>>(d_p, n);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_p, d_p, n, cudaMemcpyDeviceToHost, s));  //~| copy-to-host
  if (write(ends[1], h_p, n) != n) return 1;  //~ host-read-before-sync

  unsigned char back[n];
  long bad = 0;
  if (read(ends[0], back, n) != n) return 1;
  for (int i = 0; i < n; ++i) bad += back[i] != i % 251;
  CK(cudaDeviceSynchronize());
  CK(cudaStreamDestroy(s));
  CK(cudaFree(d_p));
  CK(cudaFreeHost(h_p));
  return verdict(n, bad);
}
