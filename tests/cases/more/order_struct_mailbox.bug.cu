// case: order_struct_mailbox
// rule: missing-release
// also: global-race
// h200: exit 0
// where: both
// nvidia: wrong-result
// launch: block=32 grid=2
// why: flag and payload are fields of one struct; nothing orders the stores to them
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda/atomic>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
struct Mail { int text[30]; int pad; int full; };
__global__ void post(const int *in, Mail *mail, int *out) {
  int t = threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> full(mail->full);
  if (blockIdx.x == 0) {
    if (t < 30) mail->text[t] = in[t] + 9;  //~| payload
    __syncwarp();
    if (t == 0) full.store(1, cuda::memory_order_relaxed);  //~ missing-release
  } else {
    while (full.load(cuda::memory_order_acquire) == 0) {}
    if (t < 30) out[t] = mail->text[t];
  }
}
static int want(const int *in, int i) { return in[i] + 9; }
int main() {
  static int h_in[30], h_out[30];
  int *in, *out, bad = 0;
  for (int i = 0; i < 30; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  Mail *mail;
  CK(cudaMalloc(&mail, 1 * sizeof *mail));
  CK(cudaMemset(mail, 0, 1 * sizeof *mail));
  post<<<2, 32>>>(in, mail, out);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 30; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", 30, bad);
  return bad ? 2 : 0;
}
