/* serve/server.h - answers HTTP requests on 127.0.0.1, one after the other.
 *
 * Connections wait for each other in one thread: a page takes milliseconds, and
 * the reader is one person. Bodies are shared between the connections they are
 * sent to. Requests with another Host than this machine's are refused before
 * they are answered.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "base/error.h"
#include "base/str.h"
#include "serve/request.h"

#include <signal.h>

/* A text that several connections send. */
struct body {
    struct str text;
    size_t n_users;
};

/* Has one user; NULL: no memory. body_release() takes a user away and frees it
 * with the last one. */
struct body *body_new(void);
struct body *body_share(struct body *body);
void body_release(struct body *body); /* accepts NULL */

struct answer {
    int status;        /* 200, 404, ... */
    int refresh_s;     /* the browser asks again after that; 0: it does not */
    bool is_json;      /* not HTML */
    struct body *body; /* the server's from then on */
};

typedef enum assay_status answer_fn(void *context,
                                    const struct request *request,
                                    struct answer *answer, struct error *err);

struct server;

/* Listens on 127.0.0.1. port 0: one that is free. If it is taken, the message
 * says how to choose another. */
enum assay_status server_open(unsigned port, struct server **out,
                              struct error *err);
void server_close(struct server *server); /* accepts NULL */
unsigned server_port(const struct server *server);

/* Answers until *stop is not 0. An answer that fails is answered with status
 * 500 and the message. */
enum assay_status server_run(struct server *server, answer_fn *answer,
                             void *context, const volatile sig_atomic_t *stop,
                             struct error *err);

#endif
