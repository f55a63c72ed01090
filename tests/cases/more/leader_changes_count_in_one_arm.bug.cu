// case: leader_changes_count_in_one_arm
// rule: divergent-barrier
// h200: exit 2
// where: static
// nvidia: wrong-result
// launch: block=128 grid=2
// why: the first warp of the first block counts less, so it may take the other way past the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
// Counts with one warp per block; the first block tells the later ones through `told`.
__global__ void keep(const int *in, int *out, int *told) {
  __shared__ int s[128], part[4];
  int t = threadIdx.x, v = in[blockIdx.x * 128 + t], kept;
  unsigned votes = __ballot_sync(0xffffffffu, v > 500);
  if (t % 32 == 0) part[t / 32] = __popc(votes);
  s[t] = v;
  __syncthreads();
  if (blockIdx.x == 0) {
    kept = part[0] + part[1] + part[2] + part[3];
    if (t < 32) kept -= *told + 40;
  } else {
    kept = 2 * max(part[0] + part[1], part[2] + part[3]);
  }
  if (kept > 48) { //~| the condition that differs
    s[t] += kept;
    __syncthreads();  //~ divergent-barrier
    out[blockIdx.x * 128 + t] = s[(t + 1) & 127];
  } else {
    out[blockIdx.x * 128 + t] = kept;
  }
}
static int want(const int *in, int i) {
  int half[2] = {0, 0};
  for (int k = 0; k < 128; ++k) half[k / 64] += in[i / 128 * 128 + k] > 500;
  int kept = i < 128 ? half[0] + half[1] : 2 * (half[0] > half[1] ? half[0] : half[1]);
  return kept > 48 ? in[i / 128 * 128 + (i + 1) % 128] + kept : kept;
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *told;
  CK(cudaMalloc(&told, sizeof *told));
  CK(cudaMemset(told, 0, sizeof *told));
  keep<<<2, 128>>>(in, out, told);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
