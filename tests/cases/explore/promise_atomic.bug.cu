// case: promise_atomic
// rule: non-terminating-loop
// where: explore
// explore: --block 2
// steps: 0
// progress: can hang under every scheduler
// why: neither does an atomic one of an automatic object (libcu++, «Execution model», Device.3)
#include <cuda/atomic>
__global__ void look_at_own() {
  cuda::atomic<bool, cuda::thread_scope_thread> goes_on = true;
  while (goes_on.load()) {}  //~ non-terminating-loop
}
