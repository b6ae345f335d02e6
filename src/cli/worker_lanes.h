/* cli/worker_lanes.h - timelines show what the threads do that help the main
 * one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_WORKER_LANES_H
#define CLI_WORKER_LANES_H

/* From now on recordings have a lane for each OpenMP worker, with the module it
 * works for, and one for the recorder's writer. None of them counts for the
 * times of a module. */
void worker_lanes_show(void);

#endif
