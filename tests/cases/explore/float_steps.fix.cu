// case: float_steps
// rule: none
// where: explore
// explore: --grid 2 --races off --no-schedulers
// why: x passes 1 after eleven additions
__global__ void count(int *turns) {
  int n = 0;
  for (float x = 0.0f; x < 1.0f; x += 0.1f) {
    ++n;
  }
  turns[blockIdx.x] = n;
}
