/* formats/mapped_file.c - see mapped_file_internal.h. */
#include "formats/mapped_file_internal.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reading a file of this size takes no longer than mapping it, and nobody can
 * change the copy. */
static const size_t small_bytes = 1 << 20;

struct mapping {
    void *bytes; /* mapped if there is a guard, else on the heap */
    size_t n;
    struct file_guard *guard;
};

static void mapped_file_release(void *context)
{
    struct mapping *mapping = context;

    if (mapping->guard) {
        file_guard_free(mapping->guard);
        munmap(mapping->bytes, mapping->n);
    } else {
        mem_free(mapping->bytes);
    }
    mem_free(mapping);
}

static enum assay_status mapped_file_read(int fd, const char *path,
                                          struct mapping *mapping,
                                          struct error *err)
{
    size_t done = 0;

    mapping->bytes = mem_alloc_aligned(POOL_ALIGNMENT, mapping->n);
    if (!mapping->bytes)
        return error_nomem(err, mapping->n, "a file");
    while (done < mapping->n) {
        ssize_t got = pread(fd, (char *)mapping->bytes + done,
                            mapping->n - done, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, errno, "cannot read %s", path);
        if (got == 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s changed while it was in use; run this again "
                             "when nothing writes to it",
                             path);
        done += (size_t)got;
    }
    return ASSAY_OK;
}

/* False if it has to be read instead. */
static bool mapped_file_guard(int fd, const char *path, const struct stat *info,
                              struct mapping *mapping)
{
    void *bytes = mmap(NULL, mapping->n, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_NORESERVE, fd, 0);

    if (bytes == MAP_FAILED)
        return false;
    mapping->guard = file_guard_new(bytes, mapping->n, path, info);
    if (mapping->guard)
        mapping->bytes = bytes;
    else
        munmap(bytes, mapping->n);
    return mapping->guard;
}

static enum assay_status mapped_file_map(int fd, const char *path,
                                         struct mapping *mapping,
                                         struct error *err)
{
    struct stat info;

    if (fstat(fd, &info))
        return error_errno(err, errno, "cannot read %s", path);
    mapping->n = (size_t)info.st_size;
    if (mapping->n >= small_bytes &&
        mapped_file_guard(fd, path, &info, mapping))
        return ASSAY_OK;
    return mapped_file_read(fd, path, mapping, err);
}

enum assay_status mapped_file_open(const char *path, struct buffer **out,
                                   struct error *err)
{
    enum assay_status st = file_check_input(path, err);
    struct mapping *mapping;
    int fd;

    *out = NULL;
    if (st)
        return st;
    mapping = mem_zalloc(sizeof *mapping);
    if (!mapping)
        return error_nomem(err, sizeof *mapping, "a file");
    st = file_open(path, &fd, err);
    if (!st)
        st = mapped_file_map(fd, path, mapping, err);
    if (fd >= 0)
        close(fd);
    if (!st)
        st = mapping->guard
                 ? buffer_wrap_file(mapping->bytes, mapping->n,
                                    mapped_file_release, mapping, out, err)
                 : buffer_wrap(mapping->bytes, mapping->n, mapped_file_release,
                               mapping, out, err);
    if (st)
        mapped_file_release(mapping);
    return st;
}
