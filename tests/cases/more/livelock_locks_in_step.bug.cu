// case: livelock_locks_in_step
// rule: wait-cycle
// where: dynamic
// nvidia: hangs
// launch: block=32 grid=1
// why: two lanes of a warp take one lock each, fail on the other, give back and begin again, in step for good
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__global__ void move(const int *in, int *out, int *lock) {
  int i = threadIdx.x;
  if (i >= 2) return;
  int first = i, second = 1 - i;
  bool done = false;
  while (!done) {  //~ wait-cycle
    if (atomicCAS(&lock[first], 0, 1) == 0) {
      if (atomicCAS(&lock[second], 0, 1) == 0) {  //~ wait-cycle
        __threadfence();
        out[0] += in[i];
        out[1] -= in[i];
        __threadfence();
        atomicExch(&lock[second], 0);
        done = true;
      }
      atomicExch(&lock[first], 0);  //~| gives back what the other waits for
    }
  }
}
static int want(const int *in, int i) { int s = in[0] + in[1]; return i ? -s : s; }
int main() {
  const int n = 2;
  static int h_in[n], h_out[n];
  int *in, *out, bad = 0;
  for (int i = 0; i < n; ++i) h_in[i] = (i * 37 + 11) % 1009 + 1;
  CK(cudaMalloc(&in, sizeof h_in));
  CK(cudaMalloc(&out, sizeof h_out));
  CK(cudaMemcpy(in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  CK(cudaMemset(out, 0, sizeof h_out));
  int *word;
  CK(cudaMalloc(&word, 2 * sizeof *word));
  CK(cudaMemset(word, 0, 2 * sizeof *word));
  move<<<1, 32>>>(in, out, word);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h_out, out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) bad += h_out[i] != want(h_in, i);
  std::printf("elements=%d mismatches=%d\n", n, bad);
  return bad ? 2 : 0;
}
