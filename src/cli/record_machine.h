/* cli/record_machine.h - what the machine of a recorded program can do at best.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RECORD_MACHINE_H
#define CLI_RECORD_MACHINE_H

/* Adds the peaks of the device that the model ran on to a run file, so that it
 * says what bounds each module. Peaks that were never measured, by `assay
 * machine` or `assay run`, stay unknown: the screen must not wait for that. A
 * file that cannot be changed stays as it is. */
void record_add_peaks(const char *path);

#endif
