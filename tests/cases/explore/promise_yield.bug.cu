// case: promise_yield
// rule: non-terminating-loop
// where: explore
// explore: --block 2
// steps: 0
// progress: can hang under every scheduler
// why: a loop that only gives way need not make progress, and here never ends (libcu++, «Execution model», Device.1)
__global__ void give_way() {
  while (true) __nanosleep(0);  //~ non-terminating-loop
}
