// case: volatile_flag_no_fence
// rule: none
// h200: exit 0
// where: both
// nvidia: completes
// launch: block=32 grid=2
// why: a device fence stands between the payload and the flag
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
struct Box {
  int data[32];
  int full;
};
__global__ void mail(const int *in, Box *box, int *out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    for (int k = 0; k < 32; ++k) box->data[k] = in[k];
    __threadfence();
    *(volatile int *)&box->full = 1;
  } else {
    while (*(volatile int *)&box->full == 0) {}
    __threadfence();
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += box->data[k] * k;
    *out = sum;
  }
}
static int want(const int *in, int) {
  int s = 0;
  for (int k = 0; k < 32; ++k) s += in[k] * k;
  return s;
}
int main() {
  static int h_in[32], h_out[1];
  int *in, *out, bad = 0;
  for (int i = 0; i < 32; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0xff, sizeof h_out));
  Box *box;
  CK(cudaMalloc(&box, 1 * sizeof *box));
  CK(cudaMemset(box, 0, 1 * sizeof *box));
  mail<<<2, 32>>>(in, box, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 1; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 1, bad);
  return bad ? 2 : 0;
}
