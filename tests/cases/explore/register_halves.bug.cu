// case: register_halves
// rule: not-linearizable
// where: explore
// explore: --grid 2
// steps: 3
// why: a read between the two writes gives half of each value
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ volatile unsigned low, high;
__device__ void write(unsigned value) {
  BEGINS(register_write, &low, value * 0x100000001ull);
  low = value;
  high = value;
  ENDS(0);
}
__device__ void read() {
  BEGINS(register_read, &low, 0);
  unsigned long long first = low, second = high;
  ENDS(second << 32 | first);  //~ not-linearizable
}
__global__ void work() {
  if (blockIdx.x == 0) write(3);
  else read();
}
