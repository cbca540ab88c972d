// A deadlock of tasks and locks whose names only the compiler's names tell.
#include <memory>
#include <mutex>
#include <thread>

namespace bank {

std::mutex ledger;

struct Account {
    std::mutex mutex;

    void deposit() {
        std::lock_guard first(mutex);
        std::lock_guard second(ledger);
    }

    void audit() {
        std::lock_guard first(ledger);
        std::lock_guard second(mutex);
    }
};

}  // namespace bank

int main() {
    auto account = std::make_unique<bank::Account>();
    std::thread depositing(&bank::Account::deposit, account.get());
    std::thread auditing([&account] { account->audit(); });
    depositing.join();
    auditing.join();
}
