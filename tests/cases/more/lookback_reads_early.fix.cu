// case: lookback_reads_early
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=4
// why: a fence stands between the state and the prefix
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void scan(const int *in, int *out, int *prefix, volatile int *state, int *ticket) {
  __shared__ int tile, before;
  int t = threadIdx.x;
  if (t == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  int b = tile, v = in[b * 32 + t], incl = v;
  for (int d = 1; d < 32; d *= 2) {
    int w = __shfl_up_sync(0xffffffffu, incl, d);
    if (t >= d) incl += w;
  }
  if (t == 31) {
    int acc = 0;
    if (b > 0) {
      while (state[b - 1] == 0) {}
      __threadfence();
      acc = prefix[b - 1];
    }
    prefix[b] = acc + incl;
    __threadfence();
    state[b] = 1;
    before = acc;
  }
  __syncthreads();
  out[b * 32 + t] = before + incl;
}
static int want(const int *in, int i) {
  int s = 0;
  for (int k = 0; k <= i; ++k) s += in[k];
  return s;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *prefix;
  CK(cudaMalloc(&prefix, 4 * sizeof *prefix));
  CK(cudaMemset(prefix, 0, 4 * sizeof *prefix));
  int *state;
  CK(cudaMalloc(&state, 4 * sizeof *state));
  CK(cudaMemset(state, 0, 4 * sizeof *state));
  int *ticket;
  CK(cudaMalloc(&ticket, 1 * sizeof *ticket));
  CK(cudaMemset(ticket, 0, 1 * sizeof *ticket));
  scan<<<4, 32>>>(in, out, prefix, state, ticket);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
