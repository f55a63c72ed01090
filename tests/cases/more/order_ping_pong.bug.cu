// case: order_ping_pong
// rule: missing-acquire
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: two blocks take turns through two flags; the answering block polls without an acquire before it reads the ball
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void rally(const int *in, volatile int *ball, int *out, int *serve, int *back, int rounds) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int r = 1; r <= rounds; ++r) {
      ball[0] = in[r - 1];
      __threadfence();
      atomicExch(serve, r);
      while (atomicAdd(back, 0) != r) {}
      __threadfence();
      out[r - 1] = ball[1];
    }
  } else {
    for (int r = 1; r <= rounds; ++r) {
      while (atomicAdd(serve, 0) != r) {}  //~ missing-acquire
      ball[1] = ball[0] * 2;  //~| payload load
      __threadfence();
      atomicExch(back, r);
    }
  }
}
static int want(const int *in, int i) { return in[i] * 2; }
int main() {
  static int h_in[16], h_out[16];
  int *in, *out, bad = 0;
  for (int i = 0; i < 16; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *ball;
  CK(cudaMalloc(&ball, 2 * sizeof *ball));
  CK(cudaMemset(ball, 0, 2 * sizeof *ball));
  int *serve;
  CK(cudaMalloc(&serve, 1 * sizeof *serve));
  CK(cudaMemset(serve, 0, 1 * sizeof *serve));
  int *back;
  CK(cudaMalloc(&back, 1 * sizeof *back));
  CK(cudaMemset(back, 0, 1 * sizeof *back));
  rally<<<2, 32>>>(in, ball, out, serve, back, 16);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 16, bad);
  return bad ? 2 : 0;
}
