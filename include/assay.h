/* assay.h - the whole public interface of libassay.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_H
#define ASSAY_H

#define ASSAY_VERSION_MAJOR 0
#define ASSAY_VERSION_MINOR 1
#define ASSAY_VERSION_PATCH 0

#include <assay/lane.h>
#include <assay/memory.h>
#include <assay/run.h>
#include <assay/span.h>
#include <assay/status.h>
#include <assay/work.h>

#endif
