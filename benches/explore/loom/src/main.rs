//! Explores one of the programs with loom and prints the seconds that it took: `loom-models counter|lock THREADS ADDITIONS`.

use std::sync::Arc as Shared;
use std::time::Instant;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::{cell::UnsafeCell, thread};

fn counter(threads: usize, additions: usize) {
    let counter = Arc::new(AtomicU32::new(0));
    let work = move |counter: &AtomicU32| {
        for _ in 0..additions {
            let mut old = counter.load(Ordering::Relaxed);
            while let Err(seen) =
                counter.compare_exchange(old, old + 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                old = seen;
            }
        }
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || work(&counter))
        })
        .collect();
    work(&counter);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(counter.load(Ordering::Relaxed) as usize, threads * additions);
}

struct Guarded {
    lock: AtomicU32,
    count: UnsafeCell<u32>,
}

unsafe impl Sync for Guarded {}

fn lock(threads: usize, additions: usize) {
    let guarded = Arc::new(Guarded { lock: AtomicU32::new(0), count: UnsafeCell::new(0) });
    let work = move |guarded: &Guarded| {
        for _ in 0..additions {
            while guarded.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                thread::yield_now();
            }
            guarded.count.with_mut(|count| unsafe { *count += 1 });
            guarded.lock.store(0, Ordering::Release);
        }
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let guarded = guarded.clone();
            thread::spawn(move || work(&guarded))
        })
        .collect();
    work(&guarded);
    others.into_iter().for_each(|other| other.join().unwrap());
    guarded.count.with(|count| assert_eq!(unsafe { *count } as usize, threads * additions));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, threads, additions] = &arguments[..] else { panic!("usage: PROGRAM THREADS ADDITIONS") };
    let (threads, additions) = (threads.parse().unwrap(), additions.parse().unwrap());
    let model = match program.as_str() {
        "counter" => counter,
        "lock" => lock,
        _ => panic!("no such program"),
    };
    let runs = Shared::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Shared::clone(&runs);
    let begun = Instant::now();
    loom::model(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model(threads, additions);
    });
    println!("{:.6} s, {} executions", begun.elapsed().as_secs_f64(), runs.load(std::sync::atomic::Ordering::Relaxed));
}
