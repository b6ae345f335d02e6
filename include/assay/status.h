/* assay/status.h - what calls return: a status, and a sentence about it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_API          __attribute__((visibility("default")))
#define ASSAY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define ASSAY_API
#define ASSAY_PRINTF(f, a)
#endif

/* This list generates the constants, their names, the program's exit codes and
 * a sentence for each. */
#define ASSAY_STATUS_LIST(X)                                                   \
    X(ASSAY_OK, 0, "no error")                                                 \
    X(ASSAY_CHECK_FAILED, 1, "a budget or a comparison failed")                \
    X(ASSAY_BAD_USAGE, 2, "wrong usage")                                       \
    X(ASSAY_BAD_INPUT, 3, "the input cannot be used")                          \
    X(ASSAY_NOT_FOUND, 3, "not found")                                         \
    X(ASSAY_UNSUPPORTED, 3, "not supported")                                   \
    X(ASSAY_IO, 3, "reading or writing failed")                                \
    X(ASSAY_NOMEM, 4, "out of memory")                                         \
    X(ASSAY_TOO_NOISY, 5, "too noisy to decide")

enum assay_status {
#define ASSAY_STATUS_ENUM(name, exit_code, sentence) name,
    ASSAY_STATUS_LIST(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
};

/* Details of a failure. Initialise to {0}. Every function that takes a pointer
 * to one accepts NULL. */
struct assay_error {
    enum assay_status status;
    char text[256]; /* one line, without a newline */
};

/* "ASSAY_BAD_INPUT"; "ASSAY_?" for a value outside the list. */
ASSAY_API const char *assay_status_name(enum assay_status status);

/* The sentence from the list above. */
ASSAY_API const char *assay_status_text(enum assay_status status);

#ifdef __cplusplus
}
#endif
#endif
