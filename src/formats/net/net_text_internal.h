/* formats/net/net_text_internal.h - words, numbers and attributes of a network
 * description.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_NET_NET_TEXT_INTERNAL_H
#define FORMATS_NET_NET_TEXT_INTERNAL_H

#include "base/sink.h"
#include "base/str.h"
#include "graph/graph.h"

enum { NET_VERSION = 1 };
#define NET_MAGIC "assay-net"

/* By enum fill, and by enum value_kind for what is declared. */
extern const char *const net_fills[], *const net_kinds[];

/* A name as one word, in quotation marks if necessary. */
void net_put_name(struct sink *sink, const char *name);
void net_put_number(struct sink *sink, double value);
/* With no more digits than it takes to read back the same float. */
void net_put_float(struct sink *sink, float value);
/* "1x3x?x?", "scalar" */
void net_put_shape(struct sink *sink, const struct shape *shape);

/* A line while it is read. */
struct net_line {
    const char *at, *end;
    struct str word; /* the last one read, without quotation marks */
    bool is_quoted;
};

/* Reads the next word or one of the marks ( ) , = alone; false at the end of
 * the line or at a comment. A malformed word becomes empty and unquoted. */
bool net_next(struct net_line *line);
/* Whether the last word is this one, without quotation marks. */
bool net_is_word(const struct net_line *line, const char *word);
/* Skips the mark if it comes next. */
bool net_take(struct net_line *line, char mark);

/* The value of the last word; false if it is not one. */
bool net_get_number(const struct net_line *line, int64_t *value);
bool net_get_double(const struct net_line *line, double *value);
bool net_get_shape(const struct net_line *line, bool may_be_free,
                   struct shape *shape);
bool net_get_dtype(const struct net_line *line, enum dtype *dtype);

/* Writes attributes that are not 0, as " name=value"; false if the op does not
 * list its attributes. */
bool net_put_attrs(struct sink *sink, const struct node *node);
/* Reads an attribute after its name, the last word, and "=". */
enum assay_status net_get_attr(struct net_line *line, const struct op_class *op,
                               void *attrs, struct error *err);

#endif
