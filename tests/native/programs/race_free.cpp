// What C++ programs do correctly: shared pointers, statics of functions, futures, memory that goes
// from one thread to another, bytes side by side.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Settings {
    std::string name = "default";
    int size = 4;
};

static Settings &settings() {
    static Settings made;
    return made;
}

struct Base {
    virtual ~Base() = default;
    virtual int value() const { return 1; }
};
struct Derived : Base {
    int value() const override { return 2; }
};

static std::once_flag once;
static int made_once;

int main() {
    auto shared = std::make_shared<Derived>();
    char bytes[16] = {};
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::unique_ptr<std::string>> queue;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([=, &bytes, &mutex, &changed, &queue]() mutable {
            std::shared_ptr<Base> own = shared;
            assert(own->value() == 2);
            shared.reset();
            assert(settings().size == 4);
            std::call_once(once, [] { made_once = 1; });
            assert(made_once == 1);
            for (int j = i; j < 16; j += 2) bytes[j] = static_cast<char>(j);
            std::string text(100, 'x');
            char copy[100];
            std::memcpy(copy, text.data(), sizeof copy);
            {
                std::lock_guard<std::mutex> guard(mutex);
                queue.push_back(std::make_unique<std::string>(text));
            }
            changed.notify_one();
        });
    shared.reset();
    for (int got = 0; got < 2;) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return !queue.empty(); });
        got += static_cast<int>(queue.size());
        queue.clear();
    }
    for (auto &thread : threads) thread.join();
    for (int j = 0; j < 16; j++) assert(bytes[j] == j);
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread last([&promise] { promise.set_value(3); });
    assert(future.get() == 3);
    last.join();
    return 0;
}
