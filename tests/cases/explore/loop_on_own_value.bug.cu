// case: loop_on_own_value
// rule: non-terminating-loop
// where: explore
// explore: --grid 2
// steps: 0
// why: nobody but the thread itself can change what the loop looks at, and it does not
__global__ void wait() {
  volatile bool go = false;
  while (!go) {}  //~ non-terminating-loop
}
