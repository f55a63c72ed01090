// case: plain_spin_two_words
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=32 grid=2
// why: both words are read through volatile
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ int stop_word, data_word;
__global__ void mailbox(const int *in, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data_word = in[0];
    __threadfence();
    atomicExch(&stop_word, 1);
  } else {
    volatile int *stop = &stop_word, *extra = out;
    while (*stop == 0 && *extra != 5) {}
    __threadfence();
    *out = data_word * 2;
  }
}
static int want(const int *in, int) { return in[0] * 2; }
int main() {
  static int h_in[2], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 2; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  mailbox<<<2, 32>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
