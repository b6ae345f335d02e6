/* base/banned.h - functions that our code must not call.
 *
 * The build includes this before every source file (cmake/flags.cmake). Our
 * declaration carries the attribute and keeps it when the system's own follows,
 * so any use is an error with gcc and with clang.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#define BANNED(instead) __attribute__((deprecated("banned: " instead)))

/* They write past the end, keep hidden state or hide a failure. */
char *strcpy(char *, const char *) BANNED("use base/str.h");
char *strcat(char *, const char *) BANNED("use base/str.h");
char *strncpy(char *, const char *, __SIZE_TYPE__) BANNED("use base/str.h");
char *strncat(char *, const char *, __SIZE_TYPE__) BANNED("use base/str.h");
int sprintf(char *, const char *, ...) BANNED("use snprintf or base/str.h");
int vsprintf(char *, const char *, __builtin_va_list)
    BANNED("use vsnprintf or base/str.h");
char *gets(char *) BANNED("use base/file.h");
char *strtok(char *, const char *) BANNED("walk the text with strcspn");
int atoi(const char *) BANNED("use strtol and check it");
long atol(const char *) BANNED("use strtol and check it");
long long atoll(const char *) BANNED("use strtoll and check it");
double atof(const char *) BANNED("use strtod and check it");

/* A library neither prints nor ends the process. Only src/cli, the tests, the
 * benchmarks and the examples may. */
#ifdef BANNED_IN_LIBRARY
void exit(int) BANNED("return a status; src/cli exits");
void abort(void) BANNED("return a status; src/cli exits");
int printf(const char *, ...) BANNED("write to a sink; src/cli prints");
int vprintf(const char *, __builtin_va_list)
    BANNED("write to a sink; src/cli prints");
int puts(const char *) BANNED("write to a sink; src/cli prints");
int putchar(int) BANNED("write to a sink; src/cli prints");
void perror(const char *) BANNED("use error_errno; src/cli prints");
extern struct _IO_FILE *stderr BANNED("return a status; src/cli prints");
#endif

/* Only base/mem.c may allocate: memory is counted, and tests make it fail. */
#ifdef BANNED_OUTSIDE_MEM
void *malloc(__SIZE_TYPE__) BANNED("use mem_alloc");
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__) BANNED("use mem_array");
void *realloc(void *, __SIZE_TYPE__) BANNED("use mem_realloc");
void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__)
    BANNED("use mem_alloc_aligned");
char *strdup(const char *) BANNED("use mem_strdup");
char *strndup(const char *, __SIZE_TYPE__) BANNED("use mem_strndup");
int asprintf(char **, const char *, ...) BANNED("use base/str.h");
void free(void *) BANNED("use mem_free");
#endif

#endif
