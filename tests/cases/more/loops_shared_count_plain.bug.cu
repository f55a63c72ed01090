// case: loops_shared_count_plain
// rule: hoistable-spin
// also: non-terminating-loop
// h200: hangs
// where: static
// nvidia: hangs
// launch: block=128 grid=1
// why: the first warp reads the count once and then waits for a number that it never looks at again
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void muster(const int *in, int *out, int *aux) {
  __shared__ int here;
  int t = threadIdx.x;
  if (t == 0) here = 0;
  __syncthreads();
  if (t >= 32) {
    if (t % 32 == 0) atomicAdd((int *)&here, 1);  //~| the additions
    out[t] = in[t];
  } else {
    while (here < 3) {}  //~ hoistable-spin
    out[t] = in[t] + here;
  }
}
static int want(const int *in, int i) { return in[i] + (i < 32 ? 3 : 0); }
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, *aux, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&aux, 4096));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  CK(cudaMemset(aux, 0, 4096));
  muster<<<1, 128>>>(in, out, aux);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
