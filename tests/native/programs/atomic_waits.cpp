/* Two threads wait for an atomic to change, and only one of them is told.  The library gives way a few times before it
 * waits: natively both wait if the main thread is late. */
#include <atomic>
#include <thread>

int main() {
    std::atomic<int> is_done{0};
    auto wait = [&] { is_done.wait(0); };
    std::thread first(wait), second(wait);
    is_done.store(1);
#ifdef FIXED
    is_done.notify_all();
#else
    is_done.notify_one();
#endif
    first.join();
    second.join();
}
