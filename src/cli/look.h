/* cli/look.h - how to look at the machine, and where its peaks are kept.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "machine/machine.h"

/* The number of threads given with --threads; 0: one per processor. */
int look_threads(int64_t given);

/* The device given with --device; NULL: the host's processors. */
enum assay_status look_device(const char *given, const struct device **out,
                              struct error *err);

/* The peaks of a device; n_threads as for look_threads(). *path will hold the
 * name of the file with the measured peaks and must outlive the options;
 * without a home directory there is none, and the peaks are measured every
 * time. */
struct machine_options look_options(const struct device *device,
                                    int64_t n_threads,
                                    enum machine_measuring measuring,
                                    struct str *path);

#endif
