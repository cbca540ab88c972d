// Correct: the threads of Rust's standard library.
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::Duration;

static ONCE: Once = Once::new();

fn main() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let table = Arc::new(RwLock::new(vec![0; 2]));
    let barrier = Arc::new(Barrier::new(2));
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let (pair, table, barrier) = (pair.clone(), table.clone(), barrier.clone());
            let sender = sender.clone();
            thread::spawn(move || {
                ONCE.call_once(|| ());
                barrier.wait();
                table.write().unwrap()[number] = 1;
                *pair.0.lock().unwrap() += 1;
                pair.1.notify_all();
                thread::sleep(Duration::from_secs(60));
                sender.send(number).unwrap();
            })
        })
        .collect();
    drop(sender);
    let mut count = pair.0.lock().unwrap();
    while *count < 2 {
        count = pair.1.wait(count).unwrap();
    }
    drop(count);
    let mut received: Vec<_> = receiver.iter().collect();
    received.sort();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(received, [0, 1]);
    assert_eq!(*table.read().unwrap(), [1, 1]);
}
