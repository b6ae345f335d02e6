/* session/stream_books.c - see stream_books.h. */
#include "session/stream_books.h"

void stream_books_begin(struct stream_books *books, int64_t now_ns)
{
    *books = (struct stream_books){
        .began_ns = now_ns, .ended_ns = now_ns, .known_to_ns = now_ns};
}

void stream_books_host(struct stream_books *books, enum idle_reason reason,
                       int64_t begin_ns, int64_t end_ns)
{
    books->spans[books->n_spans++ % STREAM_BOOKS_SPANS] =
        (struct stream_span){begin_ns, end_ns, reason};
}

/* The device did nothing from where the books are up to here. What the host did
 * in none of its spans is its own business. */
static void stream_books_idle(struct stream_books *books, int64_t to_ns)
{
    int64_t from_ns = books->known_to_ns, left_ns = to_ns - from_ns;
    size_t n = books->n_spans < STREAM_BOOKS_SPANS ? books->n_spans
                                                   : STREAM_BOOKS_SPANS;

    if (left_ns <= 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct stream_span *span = &books->spans[i];
        int64_t begin_ns = span->begin_ns > from_ns ? span->begin_ns : from_ns;
        int64_t end_ns = span->end_ns < to_ns ? span->end_ns : to_ns;

        if (end_ns <= begin_ns)
            continue;
        books->reasons_ns[span->reason] += end_ns - begin_ns;
        left_ns -= end_ns - begin_ns;
    }
    books->reasons_ns[IDLE_HOST] += left_ns;
    books->known_to_ns = to_ns;
}

void stream_books_pass(struct stream_books *books, int64_t begin_ns,
                       int64_t end_ns)
{
    stream_books_idle(books, begin_ns);
    if (end_ns <= books->known_to_ns)
        return;
    books->busy_ns += end_ns - books->known_to_ns;
    books->known_to_ns = end_ns;
}

void stream_books_end(struct stream_books *books, int64_t now_ns)
{
    books->ended_ns = now_ns > books->known_to_ns ? now_ns : books->known_to_ns;
    stream_books_idle(books, books->ended_ns);
}

int64_t stream_books_idle_ns(const struct stream_books *books)
{
    int64_t sum = 0;

    for (int i = 0; i < N_IDLE_REASONS; i++)
        sum += books->reasons_ns[i];
    return sum;
}
