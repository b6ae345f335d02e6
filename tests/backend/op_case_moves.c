/* tests/backend/op_case_moves.c - cases of ops that move elements about. */
#include "op_case_internal.h"

const struct case_maker case_moves[] = {
    {NULL, NULL},
};
