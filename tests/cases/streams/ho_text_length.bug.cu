// case: ho_text_length
// rule: host-read-before-sync
// why: strlen reads text that the asynchronous copy may still write; a synchronisation before it would order them
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

__global__ void letters(char *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i + 1 < n ? 'a' + i % 26 : '\0';
}

int main() {
  const int n = 700;
  char *d_text, *h_text;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMalloc(&d_text, n));
  CK(cudaMallocHost(&h_text, n));
  h_text[0] = 'z';
  h_text[1] = '\0';

  letters<<<(n + 127) / 128, 128, 0, s>>>(d_text, n);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_text, d_text, n, cudaMemcpyDeviceToHost, s));  //~| copy-to-host
  long bad = std::strlen(h_text) != n - 1;  //~ host-read-before-sync

  CK(cudaDeviceSynchronize());
  CK(cudaStreamDestroy(s));
  CK(cudaFree(d_text));
  CK(cudaFreeHost(h_text));
  return verdict(n, bad);
}
