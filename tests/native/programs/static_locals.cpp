/* Two static variables of functions need each other, and two threads begin with one of them each.  FIXED: neither needs
 * the other.  With an argument the first initialiser throws, and whoever comes then tries again. */
#include <cassert>
#include <thread>

static int second(bool needs_the_other);

static int first(bool needs_the_other) {
    static int value = needs_the_other ? second(false) + 1 : 1;
    return value;
}

static int second(bool needs_the_other) {
    static int value = needs_the_other ? first(false) + 1 : 1;
    return value;
}

static int tries;

static int second_time() {
    if (++tries < 2) throw tries;
    return tries;
}

static int made_at_last() {
    for (;;) try {
            static int value = second_time();
            return value;
        } catch (int) {
        }
}

int main(int argc, char **) {
    if (argc > 1) {
        int made[2];
        std::thread one([&] { made[0] = made_at_last(); }), other([&] { made[1] = made_at_last(); });
        one.join();
        other.join();
        assert(made[0] == 2 && made[1] == 2);
        return 0;
    }
#ifdef FIXED
    std::thread one([] { first(false); }), other([] { second(false); });
#else
    std::thread one([] { first(true); }), other([] { second(true); });
#endif
    one.join();
    other.join();
}
