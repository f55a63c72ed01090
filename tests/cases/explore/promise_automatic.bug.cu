// case: promise_automatic
// rule: non-terminating-loop
// where: explore
// explore: --block 2
// steps: 0
// progress: can hang under every scheduler
// why: an access of an automatic object counts for nothing, volatile as it may be (libcu++, «Execution model», Device.2)
__global__ void look_at_own() {
  volatile bool goes_on = true;
  while (goes_on) {}  //~ non-terminating-loop
}
