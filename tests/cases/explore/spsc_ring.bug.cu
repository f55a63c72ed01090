// case: spsc_ring
// rule: global-race
// where: explore
// explore: --grid 2
// progress: works only because
// steps: 7
// why: the slot is given back before it is read, so that the producer may overwrite it
#include <cuda/atomic>
using Index = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ unsigned head, tail;
__device__ int ring[2], got[3];
__global__ void pass() {
  if (blockIdx.x == 0) {
    for (unsigned at = 0; at < 3; ++at) {
      while (at - Index(head).load(cuda::memory_order_acquire) == 2) {}
      ring[at % 2] = at + 1;  //~| global-race
      Index(tail).store(at + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned at = 0; at < 3; ++at) {
      while (Index(tail).load(cuda::memory_order_acquire) == at) {}
      Index(head).store(at + 1, cuda::memory_order_release);
      got[at] = ring[at % 2];  //~ global-race
    }
  }
}
