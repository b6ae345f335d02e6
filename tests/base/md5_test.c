/* MD5 against the test suite of RFC 1321. */
#include "base/md5.h"
#include "test.h"

#include <string.h>

/* In pieces of any size. */
static const char *hash(const char *text, size_t piece)
{
    static char hex[MD5_HEX];
    size_t n = strlen(text);
    struct md5 md5;

    md5_init(&md5);
    for (size_t at = 0; at < n; at += piece)
        md5_update(&md5, text + at, n - at < piece ? n - at : piece);
    md5_finish(&md5, hex);
    return hex;
}

TEST(the_sums_of_rfc_1321)
{
    static const char *const cases[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678"
         "901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STR(hash(cases[i][0], 1000), cases[i][1]);
        CHECK_STR(hash(cases[i][0], 7), cases[i][1]);
    }
}
