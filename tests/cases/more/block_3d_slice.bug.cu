// case: block_3d_slice
// rule: divergent-barrier
// h200: exit 0
// where: static
// nvidia: completes
// launch: block=8x8x4 grid=1
// why: only the slices z = 1 and z = 3 of the block execute the barrier
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
template <int STEP> __device__ bool in_slice() { return threadIdx.z % STEP == 1; }
__global__ void slices(const int *in, int *out) {
  __shared__ int s[4][64];
  int p = threadIdx.y * 8 + threadIdx.x, z = threadIdx.z, v = in[z * 64 + p];
  s[z][p] = v;
  if (in_slice<2>()) {  //~| slices 1 and 3 only
    __syncthreads();  //~ divergent-barrier
    v += s[z - 1][63 - p];
  }
  out[z * 64 + p] = v;
}
static int want(const int *in, int i) {
  int z = i / 64, p = i % 64;
  return z & 1 ? in[i] + in[(z - 1) * 64 + 63 - p] : in[i];
}
int main() {
  static int h_in[256], h_out[256];
  int *in, *out, bad = 0;
  for (int i = 0; i < 256; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  slices<<<1, dim3(8, 8, 4)>>>(in, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 256; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 256, bad);
  return bad ? 2 : 0;
}
