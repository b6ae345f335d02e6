/* backend/winograd/winograd_avx2.c - with AVX2 and FMA: 16 registers hold the
 * sums of 6 tiles and two output blocks, the weights and one value. */
#include "backend/vectors_avx2_internal.h"
#include "backend/winograd/winograd_internal.h"

enum { group = 6 };

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx2 = {.name = "avx2",
                                               .lanes = lanes,
                                               .group = group,
                                               .read = body_read,
                                               .multiply = body_multiply,
                                               .write = body_write};
