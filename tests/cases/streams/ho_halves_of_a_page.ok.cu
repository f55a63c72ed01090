// case: ho_halves_of_a_page
// rule: none
// why: the host fills the second half of a page while the first half is being copied
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

__global__ void add(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 256;
  int *stage, *h_out, *d_a, *d_b, *d_c;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaMallocHost(&stage, 2 * n * sizeof(int)));
  CK(cudaMallocHost(&h_out, n * sizeof(int)));
  for (int **p : {&d_a, &d_b, &d_c}) CK(cudaMalloc(p, n * sizeof(int)));
  for (int i = 0; i < n; ++i) stage[i] = i;
  CK(cudaMemcpyAsync(d_a, stage, n * sizeof(int), cudaMemcpyHostToDevice, s));
  for (int i = 0; i < n; ++i) stage[n + i] = 1000 * i;
  CK(cudaMemcpyAsync(d_b, stage + n, n * sizeof(int), cudaMemcpyHostToDevice, s));
  add<<<1, n, 0, s>>>(d_a, d_b, d_c, n);
  CK(cudaGetLastError());
  CK(cudaMemcpyAsync(h_out, d_c, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  long bad = 0;
  for (int i = 0; i < n; ++i) bad += h_out[i] != 1001 * i;
  CK(cudaStreamDestroy(s));
  for (int *p : {d_a, d_b, d_c}) CK(cudaFree(p));
  for (int *p : {stage, h_out}) CK(cudaFreeHost(p));
  return verdict(n, bad);
}
