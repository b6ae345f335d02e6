/* data/batch.c - see batch.h. */
#include "data/batch.h"

#include "base/mem.h"

static void release_list(struct tensor *tensors, size_t n)
{
    for (size_t i = 0; tensors && i < n; i++)
        tensor_release(&tensors[i]);
    mem_free(tensors);
}

void batch_release(struct batch *batch)
{
    release_list(batch->images, batch->n_tensors);
    release_list(batch->masks, batch->n_masks);
    tensor_release(&batch->labels);
    tensor_release(&batch->boxes);
    tensor_release(&batch->counts);
    *batch = (struct batch){0};
}
