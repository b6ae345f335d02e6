/* Lists of tensors, and values that may be missing. */
#include "base/mem.h"
#include "ops/op_run.h"
#include "ops/sequence/packed_list.h"
#include "ops/sequence/sequence_ops.h"
#include "ops/sequence/string_normalizer.h"

static enum assay_status run(const struct op_class *op, const void *attrs,
                             const struct tensor *const *inputs, size_t n,
                             struct tensor *y)
{
    return op_run(op, attrs, op_ways[OP_FAST], inputs, n, y, 1);
}

static struct tensor number(int64_t value)
{
    return integers(&value, dims(0, 0, 0, 0, 0));
}

/* A list of n vectors: [0], [1, 1], [2, 2, 2]... */
static struct tensor list_of(size_t n)
{
    struct tensor items[8], list;
    const struct tensor *inputs[8] = {NULL};

    for (size_t i = 0; i < n; i++) {
        items[i] = op_tensor(DTYPE_F32, dims(1, (int64_t)i + 1, 0, 0, 0), NULL);
        for (size_t k = 0; k <= i; k++)
            tensor_f32(&items[i])[k] = (float)i;
        inputs[i] = &items[i];
    }
    CHECK_STATUS(run(&op_sequence_construct, NULL, inputs, n, &list), ASSAY_OK,
                 &op_err);
    op_release(items, n);
    return list;
}

/* Checks that the items begin with these numbers. */
static void check_list(const struct tensor *list, size_t n, const float *begins)
{
    struct packed packed;

    CHECK_STATUS(packed_open(list, &packed, &op_err), ASSAY_OK, &op_err);
    CHECK_INT(packed.n, n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(&packed.items[i])[0], begins[i], 0);
    packed_close(&packed);
}

TEST(items_are_inserted_erased_and_read_by_position)
{
    static const float seven = 7;
    struct tensor list = list_of(3), more, less, item;
    struct tensor new_item = floats(&seven, dims(1, 1, 0, 0, 0));
    struct tensor at[] = {number(-1), number(1), number(4)};

    CHECK_STATUS(run(&op_sequence_insert, NULL,
                     (const struct tensor *[]){&list, &new_item, &at[1]}, 3,
                     &more),
                 ASSAY_OK, &op_err);
    check_list(&more, 4, (float[]){0, 7, 1, 2});
    CHECK_STATUS(run(&op_sequence_erase, NULL, (const struct tensor *[]){&more},
                     1, &less),
                 ASSAY_OK, &op_err);
    check_list(&less, 3, (float[]){0, 7, 1});
    CHECK_STATUS(run(&op_sequence_at, NULL,
                     (const struct tensor *[]){&more, &at[0]}, 2, &item),
                 ASSAY_OK, &op_err);
    CHECK_INT(item.shape.dims[0], 3);
    CHECK_NEAR(tensor_f32(&item)[2], 2, 0);
    op_release((struct tensor[]){item, less}, 2);
    CHECK_INT(run(&op_sequence_at, NULL,
                  (const struct tensor *[]){&more, &at[2]}, 2, &item),
              ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "position 4 is not in a sequence of 4");
    op_release((struct tensor[]){list, more, new_item, at[0], at[1], at[2]}, 6);
}

TEST(nothing_is_taken_out_of_an_empty_list)
{
    struct tensor list = list_of(0), y, zero = number(0), last = number(-1);

    CHECK_INT(run(&op_sequence_at, NULL,
                  (const struct tensor *[]){&list, &zero}, 2, &y),
              ASSAY_BAD_INPUT);
    CHECK_INT(run(&op_sequence_at, NULL,
                  (const struct tensor *[]){&list, &last}, 2, &y),
              ASSAY_BAD_INPUT);
    CHECK_INT(
        run(&op_sequence_erase, NULL, (const struct tensor *[]){&list}, 1, &y),
        ASSAY_BAD_INPUT);
    CHECK_STATUS(
        run(&op_sequence_length, NULL, (const struct tensor *[]){&list}, 1, &y),
        ASSAY_OK, &op_err);
    CHECK_INT(*tensor_i64(&y), 0);
    op_release((struct tensor[]){list, zero, last, y}, 4);
}

TEST(a_split_tensor_is_joined_again)
{
    struct random random = random_seed(3);
    struct tensor x = noise(&random, dims(3, 2, 7, 3, 0)), list, y;
    struct tensor three = number(3);
    struct split_to_sequence_attrs split = {.axis = 1};
    struct concat_from_sequence_attrs join = {.axis = -2};
    struct packed packed;

    CHECK_STATUS(run(&op_split_to_sequence, &split,
                     (const struct tensor *[]){&x, &three}, 2, &list),
                 ASSAY_OK, &op_err);
    CHECK_STATUS(packed_open(&list, &packed, &op_err), ASSAY_OK, &op_err);
    CHECK_INT(packed.n, 3);
    CHECK_INT(packed.items[2].shape.dims[1], 1);
    packed_close(&packed);
    CHECK_STATUS(run(&op_concat_from_sequence, &join,
                     (const struct tensor *[]){&list}, 1, &y),
                 ASSAY_OK, &op_err);
    check_same(&y, &x, 0);
    op_release((struct tensor[]){x, list, y, three}, 4);
}

TEST(rows_that_lost_their_axis_are_stacked_along_a_new_one)
{
    struct random random = random_seed(4);
    struct tensor x = noise(&random, dims(2, 4, 5, 0, 0)), list, y;
    struct split_to_sequence_attrs split = {.axis = 0, .drops_axis = true};
    struct concat_from_sequence_attrs join = {.axis = 0, .is_new = true};

    CHECK_STATUS(run(&op_split_to_sequence, &split,
                     (const struct tensor *[]){&x}, 1, &list),
                 ASSAY_OK, &op_err);
    CHECK_STATUS(run(&op_concat_from_sequence, &join,
                     (const struct tensor *[]){&list}, 1, &y),
                 ASSAY_OK, &op_err);
    check_same(&y, &x, 0);
    op_release((struct tensor[]){x, list, y}, 3);
}

TEST(parts_must_add_up_to_the_tensor)
{
    static const int64_t lengths[] = {2, 3};
    struct tensor x = op_tensor(DTYPE_F32, dims(1, 6, 0, 0, 0), NULL), y;
    struct tensor parts = integers(lengths, dims(1, 2, 0, 0, 0));
    struct split_to_sequence_attrs split = {0};

    CHECK_INT(run(&op_split_to_sequence, &split,
                  (const struct tensor *[]){&x, &parts}, 2, &y),
              ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "5 elements for 6");
    op_release((struct tensor[]){x, parts}, 2);
}

TEST(a_missing_value_says_so)
{
    struct tensor none, list = list_of(1), y;

    CHECK_STATUS(run(&op_optional_none, NULL, NULL, 0, &none), ASSAY_OK,
                 &op_err);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(run(&op_optional_has_element, NULL,
                         (const struct tensor *[]){i ? &list : &none}, 1, &y),
                     ASSAY_OK, &op_err);
        CHECK_INT(*(uint8_t *)tensor_data(&y), i);
        tensor_release(&y);
    }
    op_release((struct tensor[]){none, list}, 2);
}

/* ---- texts --------------------------------------------------------------- */

static struct tensor texts_of(size_t n, const char *const *texts)
{
    struct tensor items[8], list;
    int64_t count = (int64_t)n;

    items[0] = integers(&count, dims(1, 1, 0, 0, 0));
    for (size_t i = 0; i < n; i++)
        items[i + 1] = op_tensor(
            DTYPE_U8, dims(1, (int64_t)strlen(texts[i]), 0, 0, 0), texts[i]);
    CHECK_STATUS(packed_make(op_pool(), items, n + 1, &list, &op_err), ASSAY_OK,
                 &op_err);
    op_release(items, n + 1);
    return list;
}

static void check_texts(const struct tensor *list, size_t n,
                        const char *const *texts)
{
    struct packed packed;

    CHECK_STATUS(packed_open(list, &packed, &op_err), ASSAY_OK, &op_err);
    CHECK_INT(packed.n, n + 1);
    CHECK_INT(tensor_i64(&packed.items[0])[0], n);
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(tensor_bytes(&packed.items[i + 1]), strlen(texts[i]));
        CHECK(memcmp(tensor_data(&packed.items[i + 1]), texts[i],
                     strlen(texts[i])) == 0);
    }
    packed_close(&packed);
}

TEST(words_are_dropped_and_letters_changed)
{
    struct tensor x = texts_of(3, (const char *const[]){"Mon", "mon", "Tue"});
    struct tensor words = texts_of(1, (const char *const[]){"mon"}), y;
    struct string_normalizer_attrs attrs = {.change = CASE_UPPER,
                                            .is_case_sensitive = true};

    CHECK_STATUS(run(&op_string_normalizer, &attrs,
                     (const struct tensor *[]){&x, &words}, 2, &y),
                 ASSAY_OK, &op_err);
    check_texts(&y, 2, (const char *const[]){"MON", "TUE"});
    tensor_release(&y);
    attrs = (struct string_normalizer_attrs){.change = CASE_LOWER};
    CHECK_STATUS(run(&op_string_normalizer, &attrs,
                     (const struct tensor *[]){&x, &words}, 2, &y),
                 ASSAY_OK, &op_err);
    check_texts(&y, 1, (const char *const[]){"tue"});
    op_release((struct tensor[]){x, words, y}, 3);
}

TEST(one_empty_text_is_left_of_none_and_other_letters_are_refused)
{
    struct tensor x = texts_of(1, (const char *const[]){"a"});
    struct tensor other = texts_of(1, (const char *const[]){"\xc3\xa9"}), y;
    struct string_normalizer_attrs attrs = {.change = CASE_LOWER};

    CHECK_STATUS(run(&op_string_normalizer, &attrs,
                     (const struct tensor *[]){&x, &x}, 2, &y),
                 ASSAY_OK, &op_err);
    check_texts(&y, 1, (const char *const[]){""});
    tensor_release(&y);
    CHECK_INT(run(&op_string_normalizer, &attrs,
                  (const struct tensor *[]){&other}, 1, &y),
              ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "beyond ASCII");
    op_release((struct tensor[]){x, other}, 2);
}

/* The bytes may come from anyone: a model can make them. */
TEST(bytes_that_are_no_list_are_refused_whatever_is_changed)
{
    struct tensor list = list_of(2);
    struct packed packed;

    for (size_t i = 0; i < tensor_bytes(&list); i++) {
        uint8_t *byte = (uint8_t *)tensor_data(&list) + i, was = *byte;

        for (int bit = 0; bit < 8; bit++) {
            *byte = (uint8_t)(was ^ 1U << bit);
            if (packed_open(&list, &packed, &op_err))
                continue;
            for (size_t k = 0; k < packed.n; k++) {
                const struct tensor *item = &packed.items[k];

                CHECK(item->offset + tensor_bytes(item) <=
                      list.offset + tensor_bytes(&list));
            }
            packed_close(&packed);
        }
        *byte = was;
    }
    op_err = (struct error){0};
    list.dtype = DTYPE_U8;
    CHECK_INT(packed_open(&list, &packed, &op_err), ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "uint8 is not a sequence");
    tensor_release(&list);
}

TEST(packing_leaks_nothing_whichever_allocation_fails)
{
    struct tensor list = list_of(3), zero = number(0), y;
    long before = mem_live();

    for (long n = 1; n < 20; n++) {
        enum assay_status st;

        mem_fail_at(n);
        st = run(&op_sequence_erase, NULL,
                 (const struct tensor *[]){&list, &zero}, 2, &y);
        mem_fail_at(0);
        if (!st)
            tensor_release(&y);
        CHECK_INT(mem_live(), before);
    }
    op_release((struct tensor[]){list, zero}, 2);
}
