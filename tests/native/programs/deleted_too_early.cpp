// A message is deleted while another thread may still read it; FIXED: the last owner deletes it.
#include <memory>
#include <thread>

struct Message {
    int length = 3;
    int text[4] = {};
};

#ifdef FIXED
using Pointer = std::shared_ptr<Message>;
#else
using Pointer = Message *;
#endif

static volatile int seen;

int main() {
    Pointer message(new Message);
    std::thread reader([message] { seen = message->length; });
#ifdef FIXED
    message.reset();
#else
    delete message;
#endif
    reader.join();
    return 0;
}
