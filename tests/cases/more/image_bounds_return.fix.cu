// case: image_bounds_return
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=16x16 grid=3x2
// why: threads beyond the edge load a zero, take part in the barrier and only skip the store
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void blur(const int *in, int *out, int w, int h) {
  __shared__ int tile[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  bool inside = x < w && y < h;
  tile[ty][tx] = inside ? in[y * w + x] : 0;
  __syncthreads();
  if (!inside) return;
  int left = tx > 0 ? tile[ty][tx - 1] : 0;
  out[y * w + x] = tile[ty][tx] * 2 + left;
}
static int want(const int *in, int i) { return in[i] * 2 + (i % 40 % 16 > 0 ? in[i - 1] : 0); }
int main() {
  static int h_in[1024], h_out[840];
  int *in, *out, bad = 0;
  for (int i = 0; i < 1024; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  blur<<<dim3(3, 2), dim3(16, 16)>>>(in, out, 40, 21);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 840; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 840, bad);
  return bad ? 2 : 0;
}
