/* backend/winograd/winograd_avx512.c - with AVX-512: 32 registers hold the
 * sums of 12 tiles and two output blocks, the weights and one value. */
#include "backend/vectors_avx512_internal.h"
#include "backend/winograd/winograd_internal.h"

enum { group = 12 };

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx512 = {.name = "avx512",
                                                 .lanes = lanes,
                                                 .group = group,
                                                 .read = body_read,
                                                 .multiply = body_multiply,
                                                 .write = body_write};
