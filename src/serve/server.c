/* serve/server.c - see server.h. */
#include "serve/server.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_CONNECTIONS = 500, /* the others wait in the system's queue */
    QUEUE = 4096,
    PATIENCE_S = 15, /* for a client that does not go on */
    LOOK_MS = 500    /* at the signal */
};

struct connection {
    int fd;
    time_t since; /* the last byte came or went */
    char head[REQUEST_MAX_BYTES];
    size_t n_head;
    char reply[512]; /* status and headers */
    size_t n_reply, n_sent;
    struct body *body;
    bool is_answered;
};

struct server {
    int fd;
    unsigned port;
    struct connection **connections;
    struct pollfd *polled;
    size_t n;
};

/* ---- bodies ------------------------------------------------------------ */

struct body *body_new(void)
{
    struct body *body = mem_alloc(sizeof *body);

    if (body)
        *body = (struct body){.n_users = 1};
    return body;
}

struct body *body_share(struct body *body)
{
    body->n_users++;
    return body;
}

void body_release(struct body *body)
{
    if (!body || --body->n_users > 0)
        return;
    str_release(&body->text);
    mem_free(body);
}

/* ---- connections ------------------------------------------------------- */

static void connection_free(struct connection *connection)
{
    close(connection->fd);
    body_release(connection->body);
    mem_free(connection);
}

static const char *server_status_words(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    default:
        return "Bad Request";
    }
}

/* Without a body if there is no memory for one. */
static void connection_reply(struct connection *connection,
                             const struct answer *answer, bool is_head)
{
    int status = answer->status, refresh_s = answer->refresh_s;
    size_t n = connection->body ? connection->body->text.n : 0;
    char refresh[32] = "";

    if (refresh_s)
        snprintf(refresh, sizeof refresh, "Refresh: %d\r\n", refresh_s);
    connection->n_reply = (size_t)snprintf(
        connection->reply, sizeof connection->reply,
        "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\n"
        "Content-Length: %zu\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
        "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: "
        "same-origin\r\n%sConnection: close\r\n\r\n",
        status, server_status_words(status),
        answer->is_json ? "application/json" : "text/html", n, refresh);
    connection->is_answered = true;
    if (is_head) {
        body_release(connection->body);
        connection->body = NULL;
    }
}

static void connection_refuse(struct connection *connection, int status,
                              const char *why)
{
    body_release(connection->body);
    connection->body = body_new();
    if (connection->body)
        (void)str_printf(&connection->body->text,
                         "<!doctype html><title>%d</title><p>%s\n", status,
                         why);
    connection_reply(connection, &(struct answer){.status = status}, false);
}

static void connection_answer(struct connection *connection,
                              const struct server *server, answer_fn *answer,
                              void *context)
{
    struct answer given = {.status = 200};
    struct request request;
    struct error err = {0};
    int status = request_read(connection->head, connection->n_head, &request);

    if (status == 0)
        return;
    if (status != 200) {
        connection_refuse(connection, status, server_status_words(status));
        return;
    }
    if (!request_is_local(&request, server->port)) {
        connection_refuse(connection, 403,
                          "This server answers to 127.0.0.1 and localhost "
                          "only.");
        return;
    }
    if (answer(context, &request, &given, &err)) {
        body_release(given.body);
        connection_refuse(connection, 500, "The page could not be made.");
        return;
    }
    connection->body = given.body;
    connection_reply(connection, &given, request.is_head);
}

/* False: it is over. */
static bool connection_receive(struct connection *connection)
{
    ssize_t n = recv(connection->fd, connection->head + connection->n_head,
                     sizeof connection->head - connection->n_head, 0);

    if (n > 0)
        connection->n_head += (size_t)n;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK ||
                               errno == EINTR));
}

static bool connection_send(struct connection *connection)
{
    size_t n_body = connection->body ? connection->body->text.n : 0;

    while (connection->n_sent < connection->n_reply + n_body) {
        size_t at = connection->n_sent;
        bool is_head = at < connection->n_reply;
        const char *from =
            is_head ? connection->reply + at
                    : connection->body->text.text + (at - connection->n_reply);
        size_t left = is_head ? connection->n_reply - at
                              : connection->n_reply + n_body - at;
        ssize_t n = send(connection->fd, from, left, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        connection->n_sent += (size_t)n;
    }
    /* The client has it all; what it may still say is read so that closing does
     * not reset the connection. */
    shutdown(connection->fd, SHUT_WR);
    (void)recv(connection->fd, connection->head, sizeof connection->head,
               MSG_DONTWAIT);
    return false;
}

/* ---- the server -------------------------------------------------------- */

static enum assay_status server_listen(struct server *server, unsigned port,
                                       struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int on = 1;

    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->fd < 0)
        return error_set(err, ASSAY_IO, "opening a socket: %s",
                         strerror(errno));
    setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server->fd, (const struct sockaddr *)&address, n) ||
        listen(server->fd, QUEUE) ||
        getsockname(server->fd, (struct sockaddr *)&address, &n)) {
        if (errno == EADDRINUSE)
            return error_set(err, ASSAY_IO,
                             "port %u is taken, perhaps by another assay "
                             "serve; choose one with --port, or --port 0 for "
                             "any that is free",
                             port);
        return error_set(err, ASSAY_IO, "listening on 127.0.0.1:%u: %s", port,
                         strerror(errno));
    }
    server->port = ntohs(address.sin_port);
    return ASSAY_OK;
}

enum assay_status server_open(unsigned port, struct server **out,
                              struct error *err)
{
    struct server *server = mem_alloc(sizeof *server);
    enum assay_status st;

    *out = NULL;
    if (!server)
        return error_nomem(err, sizeof *server, "a server");
    *server = (struct server){.fd = -1};
    server->connections =
        mem_array(MOST_CONNECTIONS, sizeof(struct connection *));
    server->polled = mem_array(MOST_CONNECTIONS + 1, sizeof(struct pollfd));
    st = server->connections && server->polled
             ? server_listen(server, port, err)
             : error_nomem(err, MOST_CONNECTIONS * sizeof(struct pollfd),
                           "a server");
    if (st) {
        server_close(server);
        return st;
    }
    *out = server;
    return ASSAY_OK;
}

void server_close(struct server *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < server->n; i++)
        connection_free(server->connections[i]);
    if (server->fd >= 0)
        close(server->fd);
    mem_free(server->connections);
    mem_free(server->polled);
    mem_free(server);
}

unsigned server_port(const struct server *server)
{
    return server->port;
}

/* As many as there is room for. Without memory or descriptors the client waits
 * until another connection is over. */
static void server_accept(struct server *server, time_t now)
{
    while (server->n < MOST_CONNECTIONS) {
        struct connection *connection;
        int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        connection = mem_alloc(sizeof *connection);
        if (!connection) {
            close(fd);
            return;
        }
        *connection = (struct connection){.fd = fd, .since = now};
        server->connections[server->n++] = connection;
    }
}

static size_t server_fill_polled(struct server *server)
{
    size_t n = 0;

    for (; n < server->n; n++)
        server->polled[n] = (struct pollfd){
            .fd = server->connections[n]->fd,
            .events = server->connections[n]->is_answered ? POLLOUT : POLLIN};
    server->polled[n] = (struct pollfd){
        .fd = server->n < MOST_CONNECTIONS ? server->fd : -1, .events = POLLIN};
    return n + 1;
}

static bool server_go_on(struct server *server, struct connection *connection,
                         answer_fn *answer, void *context)
{
    if (connection->is_answered)
        return connection_send(connection);
    if (!connection_receive(connection))
        return false;
    connection_answer(connection, server, answer, context);
    return !connection->is_answered || connection_send(connection);
}

enum assay_status server_run(struct server *server, answer_fn *answer,
                             void *context, const volatile sig_atomic_t *stop,
                             struct error *err)
{
    while (!*stop) {
        size_t n = server_fill_polled(server), kept = 0;
        int ready = poll(server->polled, n, LOOK_MS);
        size_t n_before = server->n;
        time_t now = time(NULL);

        if (ready < 0 && errno != EINTR)
            return error_set(err, ASSAY_IO, "waiting for requests: %s",
                             strerror(errno));
        for (size_t i = 0; i < n_before; i++) {
            struct connection *connection = server->connections[i];
            bool is_alive = now - connection->since < PATIENCE_S;

            if (ready > 0 && server->polled[i].revents) {
                connection->since = now;
                is_alive = server_go_on(server, connection, answer, context);
            }
            if (is_alive)
                server->connections[kept++] = connection;
            else
                connection_free(connection);
        }
        server->n = kept;
        if (ready > 0 && server->polled[n - 1].revents)
            server_accept(server, now);
    }
    return ASSAY_OK;
}
