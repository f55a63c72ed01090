// case: vote_ends_loop
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=64 grid=1
// why: the loop goes on while any thread of the block votes for it, and the vote is the same for all
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void bubble(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, odd = 0, quiet = 0;
  s[t] = in[t];
  __syncthreads();
  do {
    bool moved = false;
    if ((t & 1) == odd && t + 1 < 64 && s[t] > s[t + 1]) {
      int v = s[t];
      s[t] = s[t + 1];
      s[t + 1] = v;
      moved = true;
    }
    odd ^= 1;
    quiet = __syncthreads_or(moved) ? 0 : quiet + 1;
  } while (quiet < 2);
  out[t] = s[t];
}
static int want(const int *in, int i) {
  int below = 0;
  for (int k = 0; k < 64; ++k) {
    below = 0;
    for (int j = 0; j < 64; ++j) below += in[j] < in[k];
    if (below == i) return in[k];
  }
  return -1;
}
int main() {
  static int h_in[64], h_out[64];
  int *in, *out, bad = 0;
  for (int i = 0; i < 64; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  bubble<<<1, 64>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 64, bad);
  return bad ? 2 : 0;
}
