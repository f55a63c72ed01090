// case: float_steps
// rule: non-terminating-loop
// where: explore
// explore: --grid 2 --races off --no-schedulers
// steps: 0
// why: x goes past 1 without being equal to it, and stops growing at 2097152 after 18073721 additions; the counter beside it goes on
__global__ void count(int *turns) {
  int n = 0;
  for (float x = 0.0f; x != 1.0f; x += 0.1f) {  //~ non-terminating-loop
    ++n;
  }
  turns[blockIdx.x] = n;
}
