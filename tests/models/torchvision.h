/* tests/models/torchvision.h - runs torchvision and reads its results.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DETECT_TORCHVISION_H
#define TESTS_DETECT_TORCHVISION_H

#include "formats/weights/checkpoint.h"

/* Runs a script of the tests ("session/NAME.py") with a new folder called
 * `name` before the arguments, once per name, and returns that folder. The
 * python3 is the system's, or what ASSAY_TEST_PYTHON names. SKIPs the test if
 * torchvision is missing.
 *
 * ASSAY_TEST_ANSWERS names a folder that keeps the answers for later runs of
 * the same tests: they do not depend on ASSAY_CPU. Whoever sets it removes it.
 */
const char *torchvision_ask(const char *name, const char *script,
                            const char *arguments);
/* Removes a large file of an answer, unless answers are kept. */
void answer_remove(const char *folder, const char *name);

/* A safetensors file that a script wrote. The caller frees it. */
struct checkpoint *answer_open(const char *folder, const char *name);
/* Fails the test if there is none. The caller releases it. */
struct tensor answer_tensor(const struct checkpoint *answer, struct pool *pool,
                            const char *name);

#endif
