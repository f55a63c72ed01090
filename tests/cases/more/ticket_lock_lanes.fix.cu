// case: ticket_lock_lanes
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the critical section and the passing on stand inside the loop
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void add_all(const int *in, volatile int *out, unsigned *next, volatile unsigned *serving) {
  unsigned mine = atomicAdd(next, 1);
  bool done = false;
  while (!done) {
    if (*serving == mine) {
      __threadfence();
      out[0] += in[threadIdx.x];
      __threadfence();
      *serving = mine + 1;
      done = true;
    }
  }
}
static int want(const int *in, int i) { int s = 0; for (int k = 0; k < 64; ++k) s += in[k]; return s; }
int main() {
  const int n = 64, m = 1;
  static int h_in[n], h_out[m];
  int *in, *out, *box, bad = 0;
  unsigned *aux;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&box, sizeof h_in));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(box, 0, sizeof h_in));
  CK(cudaMemset(aux, 0, 4096));
  add_all<<<1, 64>>>(in, out, aux, aux + 1);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", m, bad);
  return bad ? 2 : 0;
}
