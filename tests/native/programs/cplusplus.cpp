// Correct: the threads of C++20.
#include <atomic>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::shared_mutex shared;
    std::condition_variable changed;
    std::latch latch(2);
    std::counting_semaphore<4> semaphore(1);
    std::atomic<int> flag{0};
    std::once_flag once;
    int items = 0, initialised = 0;
    {
        std::jthread consumer([&] {
            std::call_once(once, [&] { initialised++; });
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return items == 2; });
            flag.store(1);
            flag.notify_one();
            lock.unlock();
            latch.arrive_and_wait();
        });
        std::jthread producer([&] {
            std::call_once(once, [&] { initialised++; });
            for (int i = 0; i < 2; i++) {
                semaphore.acquire();
                {
                    std::lock_guard lock(mutex);
                    items++;
                }
                changed.notify_all();
                semaphore.release();
            }
            std::shared_lock reader(shared);
        });
        flag.wait(0);
        latch.arrive_and_wait();
    }
    auto later = std::async(std::launch::async, [] { return 42; });
    return later.get() == 42 && initialised == 1 ? 0 : 1;
}
