/* predict/perf4sight.h - the profiling files of perf4sight.
 *
 * NETWORK_LEVEL-gt.csv, one per network, level and variable, with fields
 * separated by "|". They say what was measured but not what the networks look
 * like: layers come from a data folder or from the networks themselves. A
 * folder holds such files itself, or in its folders latency/ and memory/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PERF4SIGHT_H
#define PREDICT_PERF4SIGHT_H

#include "predict/data_folder.h"

/* Whether a folder has files of perf4sight and no measurements.csv. */
bool perf4sight_is_folder(const char *folder);

/* Adds the measurements of a folder, of networks that the set describes; others
 * are counted and named. */
enum assay_status perf4sight_read(struct data_set *set, const char *folder,
                                  struct error *err);

/* The same for the text of one file; name is that of the file and says which
 * network and level it is about. */
enum assay_status perf4sight_read_text(struct data_set *set, const char *name,
                                       const char *text, size_t n,
                                       struct error *err);

#endif
