/* record/names.h - the names a program uses, as numbers.
 *
 * A name is what stands below a parent: a scope below the scope around it, a
 * phase below NAME_PHASES, a counter below NAME_COUNTERS. The numbers and texts
 * stay as long as the process, over all its recordings, so that a thread may
 * remember them without asking again. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* The names that are there from the start. */
enum {
    NAME_ROOT,     /* above all scopes; its record is an iteration's end */
    NAME_MARK,     /* its record is an iteration's begin */
    NAME_PHASES,   /* above all phases; its record is a phase's end */
    NAME_COUNTERS, /* above all counters */
    NAME_MEMORY,   /* the counter of live bytes */
    NAMES_GIVEN
};

#define NAME_NONE UINT32_MAX /* could not be made: no memory */

/* Added to a parent's number: the name of a group below it, which is not
 * measured. As a span the same texts are another name. */
#define NAME_GROUP (UINT32_C(1) << 31)

enum name_kind { NAME_SCOPE, NAME_PHASE, NAME_COUNTER };

struct name {
    uint32_t parent;
    uint32_t depth; /* below the root; groups are as deep as what they lie in */
    enum name_kind kind;
    const char *text;
    const char *detail; /* a scope's class, a counter's unit; NULL: none */
};

/* Finds or makes the name, and hands out its number and the texts that stay.
 * The parent may be marked with NAME_GROUP. NAME_NONE where there is no memory.
 */
uint32_t names_intern(uint32_t parent, const char *text, const char *detail,
                      struct name *out);

/* Copies the names from number first on, at most max; how many there were. */
size_t names_read(uint32_t first, struct name *out, size_t max);

#endif
