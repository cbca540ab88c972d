/* What tasks do to blocks of the heap that others free. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object {
    pthread_mutex_t lock;
    long value, *pointer;
} *shared;

static struct object *make(void) {
    struct object *made = calloc(1, sizeof *made);
    if (!made) abort();
    pthread_mutex_init(&made->lock, NULL);
    made->pointer = &made->value;
    return made;
}

static struct object *take(struct object *other) {
    pthread_mutex_lock(&lock);
    struct object *taken = shared;
    shared = other;
    pthread_mutex_unlock(&lock);
    return taken;
}

static struct object *look(void) {
    pthread_mutex_lock(&lock);
    struct object *taken = shared;
    pthread_mutex_unlock(&lock);
    return taken;
}

/* -- wrong -- */

static void *frees_what_is_there(void *unused) {
    free(look());
    return unused;
}

static void *writes_to_it(void *unused) {
    struct object *object = look();
    /* The other one frees it here. */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (object) object->value = 7;
    return unused;
}

static void *follows_its_pointer(void *unused) {
    struct object *object = look();
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (object) *object->pointer = 7;
    return unused;
}

static void *locks_it(void *unused) {
    struct object *object = look();
    if (!object) return unused;
    pthread_mutex_lock(&object->lock);
    pthread_mutex_unlock(&object->lock);
    return unused;
}

static void *frees_it(void *unused) {
    free(take(NULL));
    return unused;
}

static void *grows_it(void *unused) {
    pthread_mutex_lock(&lock);
    shared = realloc(shared, 2000);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* -- right -- */

static void *uses_the_heap(void *unused) {
    void *blocks[40] = {0}, *aligned;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++) {
            size_t size = (size_t)(i * 37 % 200 + round);
            switch (i % 5) {
            case 0:
                blocks[i] = malloc(size);
                break;
            case 1:
                blocks[i] = calloc(size, 3);
                for (size_t k = 0; k < 3 * size; k++)
                    if (((char *)blocks[i])[k]) abort();
                break;
            case 2:
                blocks[i] = realloc(malloc(size), 3 * size + 1);
                break;
            case 3:
                blocks[i] = memalign(64, size);
                break;
            default:
                if (posix_memalign(&aligned, 32, size)) abort();
                blocks[i] = aligned;
            }
            if (malloc_usable_size(blocks[i]) < size) abort();
            memset(blocks[i], i, size);
            if (i % 7 == 0) pthread_mutex_unlock((pthread_mutex_lock(&lock), &lock));
        }
        for (int i = 0; i < 40; i++) {
            size_t size = (size_t)(i * 37 % 200 + round);
            for (size_t k = 0; i % 5 != 2 && k < size; k++)
                if (((char *)blocks[i])[k] != (char)i) abort();
            if (i % 3) blocks[i] = realloc(blocks[i], 0) ? abort(), NULL : NULL;
            free(blocks[i]);
        }
    }
    /* A new mutex where an old one was. */
    for (int i = 0; i < 3; i++) {
        struct object *object = make();
        pthread_mutex_lock(&object->lock);
        pthread_mutex_unlock(&object->lock);
        if (i == 1) pthread_mutex_destroy(&object->lock);
        free(object);
    }
    return unused;
}

static void *kept;

__attribute__((constructor)) static void allocate_before_main(void) {
    free(malloc(40));
    kept = malloc(40);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void *(*one)(void *), *(*other)(void *);
    } all[] = {
        {"double-free", frees_what_is_there, frees_what_is_there},
        {"write", writes_to_it, frees_it},
        {"pointer", follows_its_pointer, frees_it},
        {"lock", locks_it, frees_it},
        {"moved", writes_to_it, grows_it},
        {"right", uses_the_heap, uses_the_heap},
    };
    free(kept);
    shared = make();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2 || strcmp(argv[1], all[i].name)) continue;
        pthread_t one, other;
        if (pthread_create(&one, NULL, all[i].one, NULL)) abort();
        if (pthread_create(&other, NULL, all[i].other, NULL)) abort();
        pthread_join(one, NULL);
        pthread_join(other, NULL);
        return 0;
    }
    return 99;
}
