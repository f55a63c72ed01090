// case: mbarrier_handoff
// rule: none
// where: explore
// explore: --block 2 --expect seen==42
// why: the reader waits for the end of phase 0, which the writer's arrival ends
__device__ int seen;
__device__ unsigned address(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void handoff() {
  __shared__ unsigned long long words[2];
  unsigned long long &bar = words[0], &payload = words[1];
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&bar)) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    payload = 42;
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address(&bar)) : "memory");
  } else {
    unsigned over = 0;
    while (!over) {
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(over) : "r"(address(&bar)) : "memory");
    }
    seen = payload;
  }
}
