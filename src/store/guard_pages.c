/* store/guard_pages.c - see guard.h. */
#include "store/guard.h"

#include "base/mem.h"

#include <string.h>

/* The blocks are freed through a list: a map cannot be walked. */
struct page {
    struct page *next;
    unsigned char bytes[];
};

static struct page *page_at(const struct guard_pages *pages, int64_t at)
{
    uint64_t found = 0;

    map_find(&pages->at, &at, sizeof at, &found);
    return (struct page *)(uintptr_t)found;
}

void guard_pages_release(struct guard_pages *pages)
{
    struct page *page = pages->last, *next;

    for (; page; page = next) {
        next = page->next;
        mem_free(page);
    }
    map_release(&pages->at);
    *pages = (struct guard_pages){0};
}

static struct page *page_add(struct guard_pages *pages, int64_t at)
{
    struct page *page = mem_alloc(sizeof *page + pages->n_bytes);

    if (!page)
        return NULL;
    if (map_put(&pages->at, &at, sizeof at, (uint64_t)(uintptr_t)page)) {
        mem_free(page);
        return NULL;
    }
    page->next = pages->last;
    pages->last = page;
    return page;
}

/* SQLite writes whole pages. A journal may claim another size in its middle:
 * SQLite passes that on, and it ends here. */
int guard_pages_write(struct guard_pages *pages, const void *bytes, int n,
                      int64_t at)
{
    struct page *page;

    if (!pages->n_bytes)
        pages->n_bytes = (size_t)n;
    if (n <= 0 || (size_t)n != pages->n_bytes || at < 0 || at % n)
        return SQLITE_IOERR_WRITE;
    page = page_at(pages, at);
    if (!page)
        page = page_add(pages, at);
    if (!page)
        return SQLITE_IOERR_NOMEM;
    memcpy(page->bytes, bytes, (size_t)n);
    return SQLITE_OK;
}

void guard_pages_cover(const struct guard_pages *pages, void *bytes, int n,
                       int64_t at)
{
    int64_t size = (int64_t)pages->n_bytes, end = at + n;

    if (!size)
        return;
    for (int64_t begin = at - at % size; begin < end; begin += size) {
        const struct page *page = page_at(pages, begin);
        int64_t from = begin > at ? begin : at;
        int64_t to = begin + size < end ? begin + size : end;

        if (page)
            memcpy((char *)bytes + (from - at), page->bytes + (from - begin),
                   (size_t)(to - from));
    }
}
