// case: livelock_job_handed_back
// rule: wait-cycle
// where: dynamic
// nvidia: hangs
// launch: block=64 grid=1
// why: each warp hands the job to the other and waits for 3, done, which nobody sets
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void hand(const int *in, int *out, int *box) {
  if (threadIdx.x % 32 != 0) return;
  int me = threadIdx.x / 32;
  if (me == 0) {
    while (atomicCAS(box, 2, 1) != 3) {}  //~ wait-cycle
  } else {
    while (atomicCAS(box, 1, 2) != 3) {}  //~| the other way
  }
  out[me] = in[me];
}
static int want(const int *in, int i) { return in[i]; }
int main() {
  const int n = 2;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  static int h_word[1];
  for (int i = 0; i < 1; ++i) h_word[i] = 1;
  CK(cudaMalloc(&word, sizeof h_word));
  CK(cudaMemcpy(word, h_word, sizeof h_word, cudaMemcpyHostToDevice));
  hand<<<1, 64>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
