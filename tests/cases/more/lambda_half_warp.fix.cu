// case: lambda_half_warp
// rule: none
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=16x16 grid=1
// why: the lambda is called by all rows
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void column_head(const int *in, int *out) {
  __shared__ int head[16];
  unsigned x = threadIdx.x, y = threadIdx.y;
  auto share = [&](int v) {
    if (y == 0) head[x] = v;
    __syncthreads();
    return head[15 - x];
  };
  int v = in[y * 16 + x];
  int h = share(v * 3);
  if (y == 0) v = h;
  out[y * 16 + x] = v;
}
static int want(const int *in, int i) { return i < 16 ? in[15 - i] * 3 : in[i]; }
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  column_head<<<1, dim3(16, 16)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
