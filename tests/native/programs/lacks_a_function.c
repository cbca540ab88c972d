/* Of the sanitizer's runtime, which our library of hooks has not: Java's virtual machine calls it. */
void __tsan_java_init(unsigned long begin, unsigned long size);

int main(void) {
    __tsan_java_init(8, 8);
    return 0;
}
