/* Formatted and wide input from pipes, in pieces. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static int forth[2], back[2], wide[2], waits_for_more;

static void *writes(void *unused) {
    char answer;
    write(forth[1], "1", 1);
    write(forth[1], waits_for_more ? "2" : "2 ", waits_for_more ? 1 : 2);
    assert(read(back[0], &answer, 1) == 1);
    write(forth[1], "word 5", 6);
    close(forth[1]);
    FILE *stream = fdopen(wide[1], "w");
    fputws(L"line\n", stream);
    fputwc(L'x', stream);
    fclose(stream);
    return unused;
}

/* Where a number ends is known by what comes behind it. */
static void *reads(void *unused) {
    FILE *stream = fdopen(forth[0], "r");
    int number;
    char word[8];
    assert(fscanf(stream, "%d", &number) == 1 && number == 12);
    write(back[1], "x", 1);
    assert(fscanf(stream, "%7s %d", word, &number) == 2 && number == 5 && strcmp(word, "word") == 0);
    assert(fscanf(stream, "%d", &number) == EOF);
    stream = fdopen(wide[0], "r");
    wchar_t line[8];
    assert(fgetws(line, 8, stream) && wcscmp(line, L"line\n") == 0);
    assert(fgetwc(stream) == L'x' && fgetwc(stream) == WEOF);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t one, other;
    waits_for_more = count > 1 && strcmp(arguments[1], "waits-for-more") == 0;
    assert(pipe(forth) == 0 && pipe(back) == 0 && pipe(wide) == 0);
    pthread_create(&one, NULL, writes, NULL);
    pthread_create(&other, NULL, reads, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
