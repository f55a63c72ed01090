// case: work_queue
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=3
// why: one thread draws the next tile from an atomic counter, all read it from shared memory between two barriers and leave the loop together
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void queue(const int *in, int *out, int *next, int tiles) {
  __shared__ int tile, s[64];
  int t = threadIdx.x;
  while (true) {
    if (t == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int k = tile;
    if (k >= tiles) break;
    s[t] = in[k * 64 + t];
    __syncthreads();
    if (t == 0) {
      int sum = 0;
      for (int j = 0; j < 64; ++j) sum += s[j];
      out[k] = sum;
    }
    __syncthreads();
  }
}
static int want(const int *in, int k) {
  int s = 0;
  for (int j = 0; j < 64; ++j) s += in[k * 64 + j];
  return s;
}
int main() {
  static int h_in[640], h_out[10];
  int *in, *out, bad = 0;
  for (int i = 0; i < 640; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  int *next;
  CK(cudaMalloc(&next, 1 * sizeof *next));
  CK(cudaMemset(next, 0, 1 * sizeof *next));
  queue<<<3, 64>>>(in, out, next, 10);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 10; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 10, bad);
  return bad ? 2 : 0;
}
