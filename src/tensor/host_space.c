/* tensor/host_space.c - see space.h: the memory of the host, and copies. */
#include "tensor/space.h"

#include "base/mem.h"

#include <string.h>

/* From this size on a block has pages of its own, which go back to the system
 * when it is given back. Among the blocks of a heap they would stay. */
static const size_t mapped_bytes = 1 << 18;

static void *host_take(struct space *space, size_t bytes)
{
    (void)space;
    return bytes >= mapped_bytes ? mem_map(bytes)
                                 : mem_alloc_aligned(SPACE_ALIGNMENT, bytes);
}

static void host_give(struct space *space, void *data, size_t bytes)
{
    (void)space;
    if (bytes >= mapped_bytes)
        mem_unmap(data, bytes);
    else
        mem_free(data);
}

static enum assay_status host_copy(struct space *space, void *to,
                                   const void *from, size_t bytes,
                                   struct error *err)
{
    (void)space, (void)err;
    memcpy(to, from, bytes);
    return ASSAY_OK;
}

static enum assay_status host_clear(struct space *space, void *to, size_t bytes,
                                    struct error *err)
{
    (void)space, (void)err;
    memset(to, 0, bytes);
    return ASSAY_OK;
}

struct space space_host = {
    .name = "host",
    .is_host = true,
    .take = host_take,
    .give = host_give,
    .copy_in = host_copy,
    .copy_out = host_copy,
    .copy_within = host_copy,
    .clear = host_clear,
};

static enum assay_status space_copy_over(struct space *to_space, void *to,
                                         struct space *from_space,
                                         const void *from, size_t bytes,
                                         struct error *err)
{
    void *passing = mem_alloc(bytes);
    enum assay_status st;

    if (!passing)
        return error_nomem(err, bytes, "a copy between two devices");
    st = from_space->copy_out(from_space, passing, from, bytes, err);
    if (!st)
        st = to_space->copy_in(to_space, to, passing, bytes, err);
    mem_free(passing);
    return st;
}

enum assay_status space_copy(struct space *to_space, void *to,
                             struct space *from_space, const void *from,
                             size_t bytes, struct error *err)
{
    if (!bytes)
        return ASSAY_OK;
    if (to_space == from_space)
        return to_space->copy_within(to_space, to, from, bytes, err);
    if (from_space->is_host)
        return to_space->copy_in(to_space, to, from, bytes, err);
    if (to_space->is_host)
        return from_space->copy_out(from_space, to, from, bytes, err);
    return space_copy_over(to_space, to, from_space, from, bytes, err);
}
