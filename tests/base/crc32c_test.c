/* The checksum returns the values listed in RFC 3720, B.4. */
#include "base/crc32c.h"
#include "test.h"

#include <string.h>

TEST(the_rfc_examples_match)
{
    unsigned char bytes[32];

    memset(bytes, 0, sizeof bytes);
    CHECK_INT(crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CHECK_INT(crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    CHECK_INT(crc32c(bytes, sizeof bytes), 0x46dd794e);
    CHECK_INT(crc32c("", 0), 0);
}
