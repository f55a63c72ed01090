// case: cas_multiply
// rule: lost-update
// where: explore
// explore: --grid 2 --expect acc==6
// explore: --grid 3 --expect acc==30
// explore: --grid 4 --expect acc==210
// explore: --grid 5 --no-schedulers --expect acc==2310
// explore: --grid 6 --no-schedulers --races off --expect acc==30030
// explore: --grid 4
// steps: 4 6 8 10 12 4
// why: what another block multiplied between the read and the write is overwritten
__device__ int acc = 1;
__device__ const int factors[6] = {2, 3, 5, 7, 11, 13};
__global__ void multiply() {
  int factor = factors[blockIdx.x];
  int old = *(volatile int *)&acc;       //~| read before
  *(volatile int *)&acc = old * factor;  //~ lost-update
}
