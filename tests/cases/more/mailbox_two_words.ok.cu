// case: mailbox_two_words
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the host writes one word of the mailbox and the kernel the other
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void serve(const int *in, int *out, volatile unsigned *mail) {
  if (threadIdx.x == 0) {
    while (mail[0] == 0) {}
    __threadfence_system();
  }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x] - 3;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) mail[1] = 1;
}
static int want(const int *in, int i) { return in[i] - 3; }
int main() {
  const int n = 64, m = 64;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaHostAlloc(&aux, 4096, cudaHostAllocMapped));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  serve<<<1, 64>>>(in, out, aux);
  CK(cudaGetLastError());
  *(volatile unsigned *)aux = 1;
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
