//! The barrier stands in a helper that only some cells call.

use standstill_kernel::kernels;

#[kernels]
mod scan {
    use standstill_kernel::Space;

    #[device]
    fn publish(space: Space, cache: &mut [u32], value: u32) {
        cache[space.cell_x] = value;
        space.sync();
    }

    #[kernel]
    fn maximum(space: Space, input: &[u32], output: &mut [u32]) {
        let mut cache = space.tile_array::<u32, 256>();
        if input[space.x] > 100 {
            publish(space, &mut cache, input[space.x]);
        }
        output[space.x] = cache[0];
    }
}

fn main() {}
