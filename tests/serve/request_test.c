/* tests/serve/request_test.c - heads of HTTP requests. */
#include "serve/request.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct request request;

static int read_text(const char *text)
{
    return request_read(text, strlen(text), &request);
}

TEST(a_path_is_decoded_and_the_query_kept)
{
    char value[REQUEST_MAX_TEXT];

    CHECK_INT(read_text("GET /a%20b?name=x%2Fy+z&b=2 HTTP/1.1\r\n"
                        "host:  127.0.0.1:8517 \r\nAccept: */*\r\n\r\n"),
              200);
    CHECK(!request.is_head);
    CHECK_STR(request.path, "/a b");
    CHECK_STR(request.host, "127.0.0.1:8517");
    CHECK(request_value(&request, "name", value));
    CHECK_STR(value, "x/y z");
    CHECK(request_value(&request, "b", value));
    CHECK_STR(value, "2");
    CHECK(!request_value(&request, "nam", value));
    CHECK(!request_value(&request, "c", value));
    CHECK_INT(read_text("HEAD / HTTP/1.0\n\n"), 200);
    CHECK(request.is_head);
    CHECK_STR(request.host, "");
}

TEST(a_head_is_waited_for_until_its_end)
{
    static const char whole[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    for (size_t n = 0; n + 1 < sizeof whole - 1; n++)
        CHECK_INT(request_read(whole, n, &request), 0);
    CHECK_INT(request_read(whole, sizeof whole - 1, &request), 200);
}

TEST(what_is_not_a_request_is_refused)
{
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "GET /%0d%0aX HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n",
        "GET /%4 HTTP/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "get / HTTP/1.1\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(read_text(bad[i]), 400);
    CHECK_INT(read_text("POST / HTTP/1.1\r\n\r\n"), 405);
}

TEST(long_requests_are_refused)
{
    static char text[2 * REQUEST_MAX_BYTES];

    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    memcpy(text + REQUEST_MAX_TEXT + 9, " HTTP/1.1\r\n\r\n", 13);
    CHECK_INT(request_read(text, sizeof text, &request), 414);
    memset(text, 'a', sizeof text);
    CHECK_INT(request_read(text, REQUEST_MAX_BYTES, &request), 431);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    CHECK_INT(request_read(text, REQUEST_MAX_BYTES, &request), 431);
}

TEST(only_names_of_this_machine_are_local)
{
    static const char *const good[] = {"127.0.0.1:80", "localhost:80",
                                       "LOCALHOST", "[::1]:80", "127.0.0.1"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "evil.example:80",
                                      "127.0.0.1:81",
                                      "localhost.evil.example:80",
                                      "127.0.0.1:80.evil.example"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(request.host, sizeof request.host, "%s", good[i]);
        CHECK(request_is_local(&request, 80));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(request.host, sizeof request.host, "%s", bad[i]);
        CHECK(!request_is_local(&request, 80));
    }
}
