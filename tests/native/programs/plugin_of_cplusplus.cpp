/* A plugin that knows the C++ library by itself: nobody else can look its functions up. */
static int made;

static int make() { return ++made; }

extern "C" int once_made() {
    static int value = make();
    return value;
}
