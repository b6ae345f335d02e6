/* tests/detect/torchvision.h - asking torchvision, and reading its answers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DETECT_TORCHVISION_H
#define TESTS_DETECT_TORCHVISION_H

#include "formats/weights/checkpoint.h"

/* Runs a script of the tests ("detect/NAME.py") with a new folder called `name`
 * before the arguments, once for each name, and returns that folder. SKIPs the
 * test where torchvision is missing. */
const char *torchvision_ask(const char *name, const char *script,
                            const char *arguments);

/* A safetensors file that a script wrote. The caller frees it. */
struct checkpoint *answer_open(const char *folder, const char *name);
/* Fails the test where there is none. The caller releases it. */
struct tensor answer_tensor(const struct checkpoint *answer, struct pool *pool,
                            const char *name);

#endif
