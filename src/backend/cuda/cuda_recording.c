/* backend/cuda/cuda_recording.c - see backend.h: what is queued as a CUDA
 * graph, which the driver launches as a whole. */
#include "backend/cuda/cuda_internal.h"

#include "base/mem.h"

struct backend_recording {
    cu_graph_exec exec;
    size_t n_nodes;
    uint32_t zone; /* of the memory that it reads and writes */
};

enum assay_status cuda_recording_begin(struct backend *backend,
                                       struct error *err)
{
    struct cuda_device *device = ((struct cuda *)backend)->device;
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_check(device,
                        cuda_driver()->cuStreamBeginCapture_v2(
                            device->stream, CU_CAPTURE_RELAXED),
                        "recording a pass", err);
    device->is_recording = !st;
    if (!st)
        device->recording_zone = cuda_memory_record(device);
    return st;
}

static enum assay_status recording_make(struct cuda_device *device,
                                        cu_graph graph,
                                        struct backend_recording **out,
                                        struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    struct backend_recording *made = mem_zalloc(sizeof *made);
    enum assay_status st;

    if (!made)
        return error_nomem(err, sizeof *made, "a recorded pass");
    (void)cu->cuGraphGetNodes(graph, NULL, &made->n_nodes);
    st = cuda_check(device,
                    cu->cuGraphInstantiateWithFlags(&made->exec, graph, 0),
                    "recording a pass", err);
    made->zone = device->recording_zone;
    if (st)
        mem_free(made);
    else
        *out = made;
    return st;
}

enum assay_status cuda_recording_end(struct backend *backend,
                                     struct backend_recording **out,
                                     struct error *err)
{
    struct cuda_device *device = ((struct cuda *)backend)->device;
    const struct driver_api *cu = cuda_driver();
    cu_graph graph = NULL;
    enum assay_status st =
        cuda_check(device, cu->cuStreamEndCapture(device->stream, &graph),
                   "recording a pass", err);

    device->is_recording = false;
    cuda_memory_recorded(device);
    if (!st && out)
        st = recording_make(device, graph, out, err);
    if (st || !out)
        cuda_memory_forget(device, device->recording_zone);
    if (graph)
        (void)cu->cuGraphDestroy(graph);
    return st;
}

enum assay_status cuda_recording_run(struct backend *backend,
                                     const struct backend_recording *recording,
                                     struct error *err)
{
    struct cuda_device *device = ((struct cuda *)backend)->device;
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_check(
            device,
            cuda_driver()->cuGraphLaunch(recording->exec, device->stream),
            "launching a pass", err);
    return st;
}

void cuda_recording_free(struct backend *backend,
                         struct backend_recording *recording)
{
    struct cuda_device *device = ((struct cuda *)backend)->device;

    if (!recording)
        return;
    if (!cuda_enter(device, NULL)) {
        (void)cuda_driver()->cuStreamSynchronize(device->stream);
        (void)cuda_driver()->cuGraphExecDestroy(recording->exec);
        cuda_memory_forget(device, recording->zone);
    }
    mem_free(recording);
}

enum assay_status cuda_refuse_while_recording(const struct cuda_device *device,
                                              struct error *err)
{
    return device->is_recording
               ? error_set(err, ASSAY_UNSUPPORTED,
                           "%s cannot be waited for while a pass is recorded",
                           device->name)
               : ASSAY_OK;
}
