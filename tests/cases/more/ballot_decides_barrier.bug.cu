// case: ballot_decides_barrier
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=256 grid=1
// why: a ballot is the same for one warp, but other warps may see another result and skip the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void swap_if_any(const int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x, v = in[t];
  s[t] = v;
  unsigned hit = __ballot_sync(0xffffffffu, v > 980);  //~| differs from warp to warp
  if (hit) {
    __syncthreads();  //~ divergent-barrier
    v = s[t ^ 31];
  }
  out[t] = v;
}
static int want(const int *in, int i) {
  bool hit = false;
  for (int k = i & ~31; k < (i & ~31) + 32; ++k) hit |= in[k] > 980;
  return hit ? in[i ^ 31] : in[i];
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  swap_if_any<<<1, 256>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
