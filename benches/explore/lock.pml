/* The kernel `lock` for SPIN: N processes, K additions each. */
byte lock, counter, done;
active [N] proctype worker() {
  byte i, old;
  do
  :: i < K ->
     do
     :: atomic { if
        :: lock == 0 -> lock = 1; break
        :: else -> skip
        fi }
     od;
     old = counter;
     counter = old + 1;
     lock = 0;
     i++
  :: else -> break
  od;
  done++
}
active proctype monitor() { done == N -> assert(counter == N * K) }
