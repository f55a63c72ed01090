/* The kernel `counter` for SPIN: N processes, K additions each. */
byte counter;
byte done;
active [N] proctype worker() {
  byte i, old;
  do
  :: i < K ->
     old = counter;
     do
     :: atomic { if
        :: counter == old -> counter = old + 1; break
        :: else -> old = counter
        fi }
     od;
     i++
  :: else -> break
  od;
  done++
}
active proctype monitor() { done == N -> assert(counter == N * K) }
