// case: livelock_turns_without_end
// rule: none
// where: dynamic
// nvidia: completes
// launch: block=32 grid=2
// why: the turns are counted
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void rounds(const int *in, int *out, int *word) {
  if (threadIdx.x != 0) return;
  int *turn = &word[0], me = blockIdx.x;
  for (int round = 0; round < 16; ++round) {
    while (atomicAdd(turn, 0) != me) {}
    __threadfence();
    out[0] = in[me];
    __threadfence();
    atomicExch(turn, 1 - me);
  }
}
static int want(const int *in, int) { return in[1]; }
int main() {
  const int n = 1;
  static int h_in[2], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < 2; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 2 * sizeof *word));
  CK(cudaMemset(word, 0, 2 * sizeof *word));
  rounds<<<2, 32>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
