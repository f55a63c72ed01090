// case: steps_of_both_neighbours
// rule: none
// where: static
// nvidia: completes
// launch: block=256 grid=2000
// why: each block waits for earlier blocks only, which have all started
// doubt: that blocks start in the order of their index is what cards do, not what the guide promises
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void relax(const int *in, int *out, volatile int *step) {
  int b = blockIdx.x;
  int left = b > 0 ? b - 1 : 0, before = b > 1 ? b - 2 : left;
  if (threadIdx.x != 0) return;
  if (b > 0) while (step[left] < 1) {}
  if (b > 0) while (step[before] < 1) {}
  __threadfence();
  step[b] = 1;
  out[b] = in[b] + 4;
}
static int want(const int *in, int i) { return in[i] + 4; }
int main() {
  const int n = 2000;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *step;
  CK(cudaMalloc(&step, 2000 * sizeof *step));
  CK(cudaMemset(step, 0, 2000 * sizeof *step));
  relax<<<2000, 256>>>(in, out, step);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
