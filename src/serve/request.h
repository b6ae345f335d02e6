/* serve/request.h - the head of an HTTP request, as far as a folder of runs
 * needs it: RFC 9112, without bodies.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    REQUEST_MAX_BYTES = 8192, /* of a head; longer ones are refused */
    REQUEST_MAX_TEXT = 1024   /* of a path, a query, a host */
};

struct request {
    bool is_head;                 /* HEAD; otherwise GET */
    char path[REQUEST_MAX_TEXT];  /* decoded; begins with a slash */
    char query[REQUEST_MAX_TEXT]; /* after the ?, as it came */
    char host[REQUEST_MAX_TEXT];  /* of the Host header; "" without one */
};

/* Reads the head at the beginning of n bytes. Returns 0 if its end has not come
 * yet, 200 if it was read, and otherwise the status to refuse it with: 400 for
 * what is not a request, 405 for methods other than GET and HEAD, 414 for a
 * long target, 431 for a long head. */
int request_read(const char *bytes, size_t n, struct request *out);

/* Copies the decoded value of a key in the query ("a" of "a=1&b=2"), at most
 * REQUEST_MAX_TEXT bytes with the end; false if there is none or it is not
 * text. */
bool request_value(const struct request *request, const char *key,
                   char value[REQUEST_MAX_TEXT]);

/* Whether the request was meant for this machine by name: 127.0.0.1, localhost
 * or [::1], with this port or none. Anything else may be a page of a stranger
 * whose name now leads here (DNS rebinding). */
bool request_is_local(const struct request *request, unsigned port);

#endif
