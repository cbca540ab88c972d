// Correct: uses a mutex before main begins.
#include <mutex>

struct Registry {
    std::mutex mutex;
    int entries = 0;
    Registry() {
        std::lock_guard lock(mutex);
        entries++;
    }
};

static Registry registry;

int main() {
    std::lock_guard lock(registry.mutex);
    return registry.entries - 1;
}
