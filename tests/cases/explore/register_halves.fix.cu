// case: register_halves
// rule: none
// where: explore
// explore: --grid 3
// why: both halves are one access
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ volatile unsigned long long both;
__device__ void write(unsigned value) {
  BEGINS(register_write, &both, value * 0x100000001ull);
  both = value * 0x100000001ull;
  ENDS(0);
}
__device__ void read() {
  BEGINS(register_read, &both, 0);
  ENDS(both);
}
__global__ void work() {
  if (blockIdx.x == 0) write(3);
  else read();
}
