/* cli/machine_show.h - a machine and its peaks, as a screen or JSON.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MACHINE_SHOW_H
#define CLI_MACHINE_SHOW_H

#include "base/term.h"
#include "cli/machine_gpu.h"
#include "machine/machine.h"

/* What --device can name. The first is the host, whose peaks are shown. */
struct machine_devices {
    struct {
        const char *name;
        char library[64]; /* where its kernels come from: "oneDNN 2.6.3" */
    } items[16];
    size_t n;
    struct machine_gpu gpus[16]; /* those beside the host */
    size_t n_gpus;
};

enum assay_status machine_show_screen(const struct machine *machine,
                                      const struct machine_devices *devices,
                                      struct sink *sink,
                                      const struct term *term,
                                      struct error *err);
enum assay_status machine_show_json(const struct machine *machine,
                                    const struct machine_devices *devices,
                                    struct sink *sink, struct error *err);

#endif
