/* Base64 against the test vectors of RFC 4648, section 10. */
#include "base/base64.h"
#include "test.h"

#include <string.h>

static void check(const char *text, const char *want)
{
    struct str got = {0};
    struct sink sink = sink_to_str(&got);

    base64_write(&sink, text, strlen(text));
    CHECK_STR(str_text(&got), want);
    str_release(&got);
}

TEST(the_vectors_of_the_rfc)
{
    check("", "");
    check("f", "Zg==");
    check("fo", "Zm8=");
    check("foo", "Zm9v");
    check("foob", "Zm9vYg==");
    check("fooba", "Zm9vYmE=");
    check("foobar", "Zm9vYmFy");
}

/* Three bytes of 0xff are "////"; longer than the buffer inside. */
TEST(long_inputs_are_written_in_pieces)
{
    enum { n = 30001 };
    static char bytes[n];
    struct str got = {0};
    struct sink sink = sink_to_str(&got);

    memset(bytes, 0xff, n);
    base64_write(&sink, bytes, n);
    CHECK_INT(got.n, (n + 2) / 3 * 4);
    CHECK_INT(strspn(got.text, "/"), n / 3 * 4 + 1);
    CHECK_STR(got.text + n / 3 * 4, "/w==");
    str_release(&got);
}
