// case: unwritten_index_table
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=128 grid=1
// why: the whole table is written
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void number(int *table, int n) {
  int i = threadIdx.x;
  if (i < n) table[i] = n - 1 - i;
}
__global__ void gather(const int *in, const int *table, int *out) {
  int i = threadIdx.x;
  int from = table[i];
  out[i] = in[from];
}
int main() {
  const int n = 128;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  int *table;
  CK(cudaMalloc(&table, n * sizeof(int)));
  number<<<1, n>>>(table, n);
  gather<<<1, n>>>(in, table, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != h_in[n - 1 - i];
  CK(cudaFree(table));
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(out));
  return bad ? 2 : 0;
}
