// case: flag_before_pointer_table
// rule: none
// where: both
// nvidia: completes
// launch: block=64 grid=2
// why: a store through a pointer that was loaded does not write the flag that the host set
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// The flag is the host's; the rows behind it are written through a table of pointers.
__global__ void fill(volatile int *flag, int **rows, int k) {
  int t = threadIdx.x;
  if (t == 0) {
    while (*flag == 0) {}
    __threadfence();
  }
  __syncthreads();
  rows[k + blockIdx.x][t] = t * 3 + blockIdx.x;
}
static int want(int i) { return i % 64 * 3 + i / 64; }
int main() {
  int bad = 0;
  static int h_out[128];
  int *out, *flag, **rows, one = 1;
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMalloc(&flag, sizeof *flag));
  CK(cudaMemcpy(flag, &one, sizeof one, cudaMemcpyHostToDevice));
  int *h_rows[2] = {out, out + 64};
  CK(cudaMalloc(&rows, sizeof h_rows));
  CK(cudaMemcpy(rows, h_rows, sizeof h_rows, cudaMemcpyHostToDevice));
  fill<<<2, 64>>>(flag, rows, 0);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
