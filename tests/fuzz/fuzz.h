/* tests/fuzz/fuzz.h - what every fuzz target defines.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's name. Takes any bytes and returns 0; a trap is a failure. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
