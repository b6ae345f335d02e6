/* formats/mapped_file.c - see mapped_file.h. */
#include "formats/mapped_file.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
    void *bytes;
    size_t n;
};

static void unmap(void *context)
{
    struct mapping *mapping = context;

    if (mapping->bytes)
        munmap(mapping->bytes, mapping->n);
    mem_free(mapping);
}

static enum assay_status map_descriptor(int fd, const char *path,
                                        struct mapping *mapping,
                                        struct error *err)
{
    struct stat info;

    if (fstat(fd, &info))
        return error_errno(err, errno, "cannot read %s", path);
    mapping->n = (size_t)info.st_size;
    mapping->bytes = mmap(NULL, mapping->n, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (mapping->bytes == MAP_FAILED) {
        mapping->bytes = NULL;
        return errno == ENOMEM
                   ? error_nomem(err, mapping->n, "a file")
                   : error_errno(err, errno, "cannot read %s", path);
    }
    return ASSAY_OK;
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
        st = map_descriptor(fd, path, mapping, err);
    if (fd >= 0)
        close(fd);
    if (!st)
        st = buffer_wrap_file(mapping->bytes, mapping->n, unmap, mapping, out,
                              err);
    if (st)
        unmap(mapping);
    return st;
}
