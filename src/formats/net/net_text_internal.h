/* formats/net/net_text_internal.h - the words of a network description.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_NET_NET_TEXT_INTERNAL_H
#define FORMATS_NET_NET_TEXT_INTERNAL_H

#include "base/sink.h"
#include "base/str.h"
#include "graph/graph.h"

enum { NET_VERSION = 1 };
#define NET_MAGIC "assay-net"

/* How parameters are filled, in the order of enum fill. */
extern const char *const net_fills[];

/* A name as one word: in quotation marks where it must be. */
void net_put_name(struct sink *sink, const char *name);
void net_put_number(struct sink *sink, double value);
/* With no more digits than it takes to read the same float again. */
void net_put_float(struct sink *sink, float value);
/* "1x3x?x?", "scalar" */
void net_put_shape(struct sink *sink, const struct shape *shape);

/* A line that is read from left to right. */
struct net_line {
    const char *at, *end;
    struct str word; /* the last one, without quotation marks */
    bool is_quoted;
};

/* The next word, or one of the marks ( ) , = alone; false at the end of the
 * line or of what is not a comment. A word that does not end is bad: an empty
 * word that is not quoted. */
bool net_next(struct net_line *line);
/* Whether the last word is this one, not in quotation marks. */
bool net_is_word(const struct net_line *line, const char *word);
/* Steps over the mark where it comes next. */
bool net_take(struct net_line *line, char mark);

/* Of the last word; false where it is none. */
bool net_get_number(const struct net_line *line, int64_t *value);
bool net_get_double(const struct net_line *line, double *value);
bool net_get_shape(const struct net_line *line, bool may_be_free,
                   struct shape *shape);
bool net_get_dtype(const struct net_line *line, enum dtype *dtype);

/* Attributes that are not 0, as " name=value"; false where nobody knows how to
 * write those of the op. */
bool net_put_attrs(struct sink *sink, const struct node *node);
/* One attribute, whose name is the last word and whose "=" was taken. */
enum assay_status net_get_attr(struct net_line *line, const struct op_class *op,
                               void *attrs, struct error *err);

#endif
