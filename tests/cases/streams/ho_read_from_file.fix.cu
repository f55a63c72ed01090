// case: ho_read_from_file
// rule: none
// why: the stream is synchronised before read() fills the buffer again
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

__global__ void keep(const unsigned char *from, unsigned char *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

int main() {
  const int n = 1500;
  unsigned char *d_in, *d_first, *h_stage, back[n], parts[2][n];
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMalloc(&d_in, n));
  CK(cudaMalloc(&d_first, n));
  CK(cudaMallocHost(&h_stage, n));
  int ends[2];
  for (int i = 0; i < n; ++i) {
    parts[0][i] = (unsigned char)(i % 7);
    parts[1][i] = (unsigned char)(i % 11);
  }
  if (pipe(ends) != 0 || write(ends[1], parts, sizeof parts) != (long)sizeof parts) return 1;

  if (read(ends[0], h_stage, n) != n) return 1;
  CK(cudaMemcpyAsync(d_in, h_stage, n, cudaMemcpyHostToDevice, s));
  keep<<<(n + 255) / 256, 256, 0, s>>>(d_in, d_first, n);
  CK(cudaGetLastError());
  CK(cudaStreamSynchronize(s));
  if (read(ends[0], h_stage, n) != n) return 1;
  CK(cudaDeviceSynchronize());

  long bad = 0;
  CK(cudaMemcpy(back, d_first, n, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += back[i] != i % 7;
  for (int i = 0; i < n; ++i) bad += h_stage[i] != i % 11;
  CK(cudaStreamDestroy(s));
  for (unsigned char *p : {d_in, d_first}) CK(cudaFree(p));
  CK(cudaFreeHost(h_stage));
  return verdict(n, bad);
}
