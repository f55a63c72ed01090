// case: mbarrier_count
// rule: wait-cycle
// where: explore
// explore: --block 2
// why: the barrier expects three arrivals and there are two threads
__device__ unsigned address(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void meet() {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 3;" ::"r"(address(&bar)) : "memory");
  __syncthreads();
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address(&bar)) : "memory");
  unsigned over = 0;
  while (!over) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"  //~ wait-cycle
                 : "=r"(over) : "r"(address(&bar)) : "memory");
  }
}
