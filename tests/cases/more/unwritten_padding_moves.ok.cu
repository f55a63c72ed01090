// case: unwritten_padding_moves
// rule: none
// h200: not run
// where: dynamic
// nvidia: completes
// launch: block=64 grid=4
// why: structs are copied whole with their padding, rows with a tail that nobody uses, and a neighbour beyond the end is read but not taken
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
struct Sample { char kind; int value; char flag; };
__global__ void make(Sample *samples, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    samples[i].kind = i & 3;
    samples[i].value = in[i];
    samples[i].flag = 1;
  }
}
__global__ void move(Sample *to, const Sample *from, int *rows, const int *source, int n) {
  __shared__ int tile[65];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  to[i] = from[i];
  rows[i] = source[i];
  if (i < n) tile[t] = source[i];
  __syncthreads();
  int next = tile[t + 1];
  bool last = t == 63 || i + 1 >= n;
  int kept = last ? 0 : next;
  if (i < n && (last || next > 0)) rows[i] += kept;
}
int main() {
  const int n = 200, room = 256;
  static int h_in[n], h_rows[room];
  static Sample h_samples[room];
  int *in, *rows, *source, bad = 0;
  Sample *one, *two;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&rows, sizeof h_rows));
  CK(cudaMalloc(&source, sizeof h_rows));
  CK(cudaMalloc(&one, sizeof h_samples));
  CK(cudaMalloc(&two, sizeof h_samples));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(source, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  make<<<4, 64>>>(one, in, n);
  move<<<4, 64>>>(two, one, rows, source, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_samples, two, sizeof h_samples, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(h_rows, rows, sizeof h_rows, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {
    int kept = i % 64 == 63 || i + 1 >= n ? 0 : h_in[i + 1];
    bad += h_samples[i].value != h_in[i] || h_samples[i].kind != (i & 3) || h_rows[i] != h_in[i] + kept;
  }
  std::printf("elements=%d mismatches=%d\n", n, bad);
  CK(cudaFree(in));
  CK(cudaFree(rows));
  CK(cudaFree(source));
  CK(cudaFree(one));
  CK(cudaFree(two));
  return bad ? 2 : 0;
}
