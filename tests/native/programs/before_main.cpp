// Correct: uses a mutex before main begins, and a stream, whose library does something once.
// HELD: the mutex is locked for ever; STARTS: a thread is started before main.
#include <iostream>
#include <mutex>
#include <thread>

struct Registry {
    std::mutex mutex;
    int entries = 0;
    void add() {
        std::lock_guard lock(mutex);
        entries++;
    }
    Registry() {
        add();
#ifdef STARTS
        std::thread(&Registry::add, this).join();
#endif
#ifdef HELD
        mutex.lock();
#endif
    }
};

static Registry registry;

int main() {
    std::thread other(&Registry::add, &registry);
    registry.add();
    other.join();
    std::cout << registry.entries << std::endl;
}
