// case: counter_decides_barrier
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: wrong-result
// launch: block=128 grid=2
// why: the counter is read while other threads add to it, so threads may see different counts and part before the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// s[64] holds the tile's number; s[0] to s[63] are counted with atomics.
__global__ void bins(const int *in, int *out, int *next, int tiles) {
  __shared__ int s[65];
  int t = threadIdx.x;
  if (t < 64) s[t] = 0;
  if (t == 0) s[64] = atomicAdd(next, 1);
  __syncthreads();

  int tile = s[64];
  atomicAdd(&s[in[tile * 128 + t] & 63], 1);
  if (s[0] < 2 * tiles) {  //~| read while others still add to it
    __syncthreads();  //~ divergent-barrier
    if (t < 64) out[tile * 64 + t] = s[t];
  }
}
static int want(const int *in, int i) {
  int sum = 0;
  for (int k = i / 64 * 128; k < i / 64 * 128 + 128; ++k) sum += in[k] % 64 == i % 64;
  return sum;
}
int main() {
  static int h_in[256], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *next;
  CK(cudaMalloc(&next, sizeof *next));
  CK(cudaMemset(next, 0, sizeof *next));
  bins<<<2, 128>>>(in, out, next, 2);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
