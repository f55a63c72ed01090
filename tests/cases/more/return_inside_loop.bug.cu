// case: return_inside_loop
// rule: early-exit-barrier
// also: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=128 grid=1
// why: a thread that reaches its own limit returns in the middle of a loop with a barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void grow(const int *in, int *out, int rounds) {
  __shared__ int s[128];
  int t = threadIdx.x, v = in[t] % 50;
  s[t] = v;
  for (int r = 0; r < rounds; ++r) {
    if (v > 400) {  //~| thread by thread
      out[t] = -v;
      return;
    }
    __syncthreads();  //~ early-exit-barrier
    int w = s[t ^ 1];
    __syncthreads();  //~ early-exit-barrier
    v += w + r;
    s[t] = v;
  }
  out[t] = v;
}
static int want(const int *in, int i) {
  int a = in[i] % 50, b = in[i ^ 1] % 50;
  bool done = false;
  for (int r = 0; r < 6; ++r) {
    done = a > 400;
    bool other = b > 400;
    int x = a, y = b;
    if (!done) a = x + y + r;
    if (!other) b = y + x + r;
  }
  return done ? -a : a;
}
int main() {
  static int h_in[128], h_out[128];
  int *in, *out, bad = 0;
  for (int i = 0; i < 128; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  grow<<<1, 128>>>(in, out, 6);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 128, bad);
  return bad ? 2 : 0;
}
