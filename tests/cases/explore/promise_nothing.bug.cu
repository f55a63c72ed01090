// case: promise_nothing
// rule: non-terminating-loop
// where: explore
// explore: --block 2
// steps: 0
// progress: can hang under every scheduler
// why: a loop that does nothing (libcu++, «Execution model», Device.4)
__global__ void circle() {
  while (true) {}  //~ non-terminating-loop
}
