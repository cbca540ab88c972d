// One permit for two threads, each of which takes it and gives it back.
//
// With libstdc++ 12 one of them may wait for ever although the permit is free: `acquire` loads the counter,
// then sees that the other thread has taken the permit, and goes to sleep if the counter is still as it was
// loaded, which it is again once the permit is given back.
#include <semaphore>
#include <thread>

int main() {
    std::counting_semaphore<4> permits(1);
    auto use = [&permits] {
        permits.acquire();
        permits.release();
    };
    std::jthread first(use), second(use);
}
