// case: spsc_ring
// rule: none
// where: explore
// explore: --grid 2 --expect got[0]==1&&got[1]==2&&got[2]==3
// progress: works only because
// why: the producer publishes the tail behind the slot, the consumer gives a slot back behind reading it
#include <cuda/atomic>
using Index = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ unsigned head, tail;
__device__ int ring[2], got[3];
__global__ void pass() {
  if (blockIdx.x == 0) {
    for (unsigned at = 0; at < 3; ++at) {
      while (at - Index(head).load(cuda::memory_order_acquire) == 2) {}
      ring[at % 2] = at + 1;
      Index(tail).store(at + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned at = 0; at < 3; ++at) {
      while (Index(tail).load(cuda::memory_order_acquire) == at) {}
      got[at] = ring[at % 2];
      Index(head).store(at + 1, cuda::memory_order_release);
    }
  }
}
