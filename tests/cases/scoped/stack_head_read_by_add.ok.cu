// case: stack_head_read_by_add
// rule: none
// h200: exit 0
// where: dynamic
// nvidia: completes
// launch: grid=2 block=32
// why: the head carries a counter that every exchange raises, so it never comes back; adding nothing only reads it
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)
__device__ unsigned long long head = 0xffffffffull;
__global__ void push_and_pop(unsigned *next, unsigned *popped) {
  unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long old = atomicAdd(&head, 0ull), seen;
  for (;;) {
    *(volatile unsigned *)&next[me] = (unsigned)old;
    __threadfence();
    seen = atomicCAS(&head, old, ((old >> 32) + 1) << 32 | me);
    if (seen == old) break;
    old = seen;
  }
  old = atomicAdd(&head, 0ull);
  for (;;) {
    unsigned top = (unsigned)old;
    if (top == ~0u) return;
    __threadfence();
    unsigned below = *(volatile unsigned *)&next[top];
    seen = atomicCAS(&head, old, ((old >> 32) + 1) << 32 | below);
    if (seen == old) break;
    old = seen;
  }
  atomicAdd(&popped[(unsigned)old], 1u);
}
int main() {
  unsigned *next, *popped, host[64], wrong = 0;
  CK(cudaMalloc(&next, sizeof host));
  CK(cudaMalloc(&popped, sizeof host));
  CK(cudaMemset(popped, 0, sizeof host));
  push_and_pop<<<2, 32>>>(next, popped);
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(host, popped, sizeof host, cudaMemcpyDeviceToHost));
  for (unsigned times : host) wrong += times != 1;
  std::printf("wrong=%u\n", wrong);
  CK(cudaFree(next));
  CK(cudaFree(popped));
  return wrong ? 2 : 0;
}
