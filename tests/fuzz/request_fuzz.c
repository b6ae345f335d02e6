/* Any bytes as an HTTP request: its head is read, refused or waited for, and
 * what was read is text. */
#include "fuzz.h"
#include "serve/request.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char value[REQUEST_MAX_TEXT];
    struct request request;
    int status = request_read((const char *)data, n, &request);

    if (status == 0)
        return n >= REQUEST_MAX_BYTES ? (__builtin_trap(), 0) : 0;
    if (status != 200)
        return status < 400 ? (__builtin_trap(), 0) : 0;
    if (request.path[0] != '/' || strpbrk(request.path, "\r\n\t"))
        __builtin_trap();
    if (request_value(&request, "name", value) && strpbrk(value, "\r\n\t"))
        __builtin_trap();
    (void)request_is_local(&request, 8517);
    return 0;
}
