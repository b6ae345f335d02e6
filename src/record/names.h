/* record/names.h - the names a program uses, as numbers.
 *
 * A name is what stands below a parent: a scope below the scope around it, a
 * phase below NAME_PHASES, a counter below NAME_COUNTERS, a thread's below
 * NAME_THREADS, a lane below NAME_LANES. Names stay as they are as long as the
 * process, over all its recordings, so that a thread may remember them without
 * asking again.
 *
 * Thread-safe, and safe in signal handlers: nobody waits for anybody, and
 * memory comes from the system, never from malloc(3), which the signal may have
 * interrupted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The names that are there from the start. */
enum {
    NAME_ROOT,     /* above all scopes; its record is an iteration's end */
    NAME_MARK,     /* its record is an iteration's begin */
    NAME_PHASES,   /* above all phases; its record is a phase's end */
    NAME_COUNTERS, /* above all counters */
    NAME_MEMORY,   /* the counter of live bytes */
    NAME_THREADS,  /* above the names of threads; none has a record */
    NAME_LANES,    /* above the lanes that spans are given to */
    NAME_WORK,     /* above the texts that come with work; its record is work */
    NAME_SPACES,   /* above memory spaces, whose detail is the category */
    NAME_PARAMETERS, /* its record is how many a scope has */
    NAMES_GIVEN
};

#define NAME_NONE UINT32_MAX /* could not be made: no memory */

/* Numbers are smaller than 2 to this power. */
enum { NAME_BITS = 24 };

/* Added to a parent's number: the name of a group below it, which is not
 * measured. As a span the same texts are another name. */
#define NAME_GROUP (UINT32_C(1) << 31)

/* Names are not nested deeper: no thread has more spans open. */
enum { NAME_MAX_DEPTH = 256 };

enum name_kind {
    NAME_SCOPE,
    NAME_PHASE,
    NAME_COUNTER,
    NAME_THREAD,
    NAME_LANE,
    NAME_TEXT,
    NAME_SPACE
};

struct name {
    uint32_t below; /* the parent, marked with NAME_GROUP where it is a group */
    uint32_t number; /* its own */
    uint32_t depth; /* below the root; groups are as deep as what they lie in */
    enum name_kind kind;
    const char *text;
    const char *detail; /* a scope's class, a counter's unit, a lane's kind;
                           NULL: none */
    const struct name *next; /* names.c's */
};

static inline uint32_t name_parent(const struct name *name)
{
    return name->below & ~NAME_GROUP;
}

static inline bool name_is(const struct name *name, uint32_t below,
                           const char *text, const char *detail)
{
    return name->below == below && strcmp(name->text, text) == 0 &&
           (detail ? name->detail && strcmp(name->detail, detail) == 0
                   : !name->detail);
}

/* Finds or makes the name. NULL where there is no memory. */
const struct name *names_intern(uint32_t below, const char *text,
                                const char *detail);

/* How many there are. */
uint32_t names_count(void);

/* The name of a number that names_intern() gave. */
const struct name *names_at(uint32_t number);

/* The name of a number that anybody may have made up; NULL: there is none. */
const struct name *names_find(uint32_t number);

/* The first name of a scope right below a parent, as a span or a group,
 * whatever its class is or with that class; NULL: there is none. */
const struct name *names_find_scope(uint32_t parent, const char *text,
                                    size_t n_text, const char *class_name);

#endif
