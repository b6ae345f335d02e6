/* record/names_internal.h - the names that a program uses, as numbers.
 *
 * Every name has a parent: a scope's is the scope around it, a phase's
 * NAME_PHASES, a counter's NAME_COUNTERS, a thread's NAME_THREADS, a lane's
 * NAME_LANES. Names never change during the life of the process, across all
 * recordings, so threads may cache them.
 *
 * Thread-safe, and safe in signal handlers: nobody waits for anybody, and
 * memory comes from the system, never from malloc(3), which the signal may have
 * interrupted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_INTERNAL_H
#define RECORD_NAMES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The names that exist from the start. */
enum {
    NAME_ROOT,       /* parent of all scopes; its record ends an iteration */
    NAME_MARK,       /* its record begins an iteration */
    NAME_PHASES,     /* parent of all phases; its record ends a phase */
    NAME_COUNTERS,   /* parent of all counters */
    NAME_MEMORY,     /* the counter of live bytes */
    NAME_THREADS,    /* parent of thread names; these have no records */
    NAME_LANES,      /* parent of lanes that spans are reported on */
    NAME_WORK,       /* parent of the texts of work; its record is work */
    NAME_SPACES,     /* parent of memory spaces; their detail is the category */
    NAME_PARAMETERS, /* its record is the number of a scope's parameters */
    NAME_DONE,       /* its record is the executed part of a scope's work */
    NAME_FUSED,      /* its record says that a scope is fused into another */
    NAMES_GIVEN
};

#define NAME_NONE UINT32_MAX /* could not be made: out of memory */

/* Numbers have this many bits. */
enum { NAME_BITS = 24 };

/* Added to a parent's number for the name of a group below it, which is not
 * measured. The same texts as a span are another name. */
#define NAME_GROUP (UINT32_C(1) << 31)

/* Of nested names: no thread has more spans open. */
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
    uint32_t below; /* the parent, plus NAME_GROUP for a group */
    uint32_t number;
    uint32_t depth; /* below the root; a group has its parent's */
    enum name_kind kind;
    const char *text;
    const char *detail; /* a scope's class, a counter's unit, a lane's kind;
                           NULL: none */
    const struct name *next; /* for names.c */
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

/* Finds or makes the name. NULL if memory runs out. */
const struct name *names_intern(uint32_t below, const char *text,
                                const char *detail);

uint32_t names_count(void);

/* The name of a valid number. */
const struct name *names_at(uint32_t number);

/* The name of any number; NULL: there is none. */
const struct name *names_find(uint32_t number);

/* The first scope directly below a parent with this text, a span or a group,
 * with this class or, for NULL, any class. NULL: there is none. */
const struct name *names_find_scope(uint32_t parent, const char *text,
                                    size_t n_text, const char *class_name);

#endif
