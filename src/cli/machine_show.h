/* cli/machine_show.h - a machine on the screen, and as JSON.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MACHINE_SHOW_H
#define CLI_MACHINE_SHOW_H

#include "base/term.h"
#include "machine/machine.h"

/* library: whose kernels the peak was measured with, "oneDNN 2.6.3". */
enum assay_status machine_show_screen(const struct machine *machine,
                                      const char *library, struct sink *sink,
                                      const struct term *term,
                                      struct error *err);
enum assay_status machine_show_json(const struct machine *machine,
                                    const char *library, struct sink *sink,
                                    struct error *err);

#endif
