/* observe/device_name.h - what computed a run, if it was no processor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_DEVICE_NAME_H
#define OBSERVE_DEVICE_NAME_H

#include "backend/backend.h"
#include "run/run.h"

/* The fact machine.gpu: the name of the GPU, where there is one; and
 * device.unpinned: why copies to it are slower than they could be. */
enum assay_status device_name_state(struct run *run,
                                    const struct backend *backend,
                                    struct error *err);

#endif
