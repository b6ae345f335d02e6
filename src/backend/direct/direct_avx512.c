/* backend/direct/direct_avx512.c - with AVX-512: 32 registers hold the sums of
 * 12 pixels and two output blocks, the weights and one value. */
#include "backend/direct/direct_internal.h"
#include "backend/vectors_avx512_internal.h"

/* Pixels of a tile: pointwise, and depthwise. */
enum { group = 12, columns = 8 };

/* Rows of a matrix that make a tile: any number up to the most. */
enum { most_rows = 13 };
#define ROW_TILES(X)                                                           \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

#include "backend/direct/direct_body_internal.h"
#include "backend/direct/few_rows_internal.h"
#include "backend/direct/halves_internal.h"
#include "backend/direct/lines_internal.h"
#include "backend/direct/picked_internal.h"
#include "backend/direct/responses_internal.h"
#include "backend/direct/stem_internal.h"

const struct direct_kernels direct_avx512 = {.name = "avx512",
                                             .lanes = lanes,
                                             .gather = body_gather,
                                             .pointwise = body_pointwise,
                                             .rows = body_rows,
                                             .halve = body_halve,
                                             .join = body_join,
                                             .narrow = body_narrow,
                                             .picked = body_picked,
                                             .depthwise = body_depthwise,
                                             .grouped = body_grouped,
                                             .multiply = body_multiply,
                                             .respond = body_respond,
                                             .softmax = body_softmax,
                                             .softmax_short =
                                                 body_softmax_short,
                                             .attend = body_attend,
                                             .norm = body_norm,
                                             .stem = body_stem};
