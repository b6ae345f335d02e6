/* SHA-256 against the examples that NIST publishes with FIPS 180-4. */
#include "base/sha256.h"
#include "test.h"

#include <string.h>

static const char *hash(const void *bytes, size_t n)
{
    static char hex[SHA256_HEX];
    struct sha256 sha;

    sha256_init(&sha);
    sha256_update(&sha, bytes, n);
    sha256_finish(&sha, hex);
    return hex;
}

TEST(one_block)
{
    CHECK_STR(
        hash("abc", 3),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(two_blocks)
{
    static const char text[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    CHECK_STR(
        hash(text, strlen(text)),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(nothing)
{
    CHECK_STR(
        hash("", 0),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(a_million_letters_in_pieces_of_all_sizes)
{
    static char letters[256];
    char hex[SHA256_HEX];
    struct sha256 sha;
    size_t left = 1000000, piece = 0;

    memset(letters, 'a', sizeof letters);
    sha256_init(&sha);
    while (left) {
        piece = (piece + 1) % sizeof letters;
        if (piece > left)
            piece = left;
        sha256_update(&sha, letters, piece);
        left -= piece;
    }
    sha256_finish(&sha, hex);
    CHECK_STR(
        hex,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
