/* Hostile checkpoints, made byte by byte. */
#include "base/mem.h"
#include "base/str.h"
#include "formats/weights/checkpoint.h"
#include "test.h"

#include <string.h>

/* Bytes that may contain NULs, without the compiler's own. */
#define BYTES(text) text, sizeof(text) - 1

static struct error err;
static struct checkpoint *checkpoint;

static void add(struct str *str, const char *bytes, size_t n)
{
    CHECK_INT(str_append_n(str, bytes, n), ASSAY_OK);
}

/* Takes the bytes; they live as long as the checkpoint. */
static enum assay_status read_bytes(struct str *bytes)
{
    struct buffer *file;
    enum assay_status st;

    err = (struct error){0};
    CHECK_INT(
        buffer_wrap(bytes->text, bytes->n, mem_free, bytes->text, &file, &err),
        ASSAY_OK);
    st = checkpoint_read(file, &checkpoint, &err);
    buffer_release(file);
    return st;
}

#define MAGIC        "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define VERSION      "\x80\2M\xe9\3."
#define TEXT(length) "X" length "\0\0\0"
#define FACTS(order) "\x80\2}" TEXT("\x0d") "little_endian" order "s."

/* An older checkpoint with this object and one storage "0" of the floats 1, 2,
 * 3 and 4. */
static enum assay_status read_legacy(const char *object, size_t n)
{
    static const float numbers[4] = {1, 2, 3, 4};
    struct str file = {0};

    add(&file, BYTES(MAGIC VERSION FACTS("\x88")));
    add(&file, object, n);
    add(&file, BYTES("\x80\2]" TEXT("\1") "0a."));
    add(&file, BYTES("\4\0\0\0\0\0\0\0"));
    add(&file, (const char *)numbers, sizeof numbers);
    return read_bytes(&file);
}

/* {"t": a tensor over the storage} with its offset, size and stride. */
#define STORAGE                                                                \
    "(" TEXT("\7") "storage"                                                   \
                   "ctorch\nFloatStorage\n" TEXT("\1") "0" TEXT("\3") "cpu"    \
                                                                      "K\4NtQ"
#define TENSOR(place)                                                          \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE place "\x89NtR"
#define OBJECT(place) "\x80\2}" TEXT("\1") "t" TENSOR(place) "s."

static void check_floats(const float *wanted, size_t n)
{
    struct tensor tensor;
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_INT(checkpoint_count(checkpoint), 1);
    CHECK_STR(checkpoint_tensor(checkpoint, 0)->name, "t");
    CHECK_INT(checkpoint_load(checkpoint, 0, pool, &tensor, &err), ASSAY_OK);
    CHECK_INT(tensor_elements(&tensor), n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(&tensor)[i], wanted[i], 0);
    tensor_release(&tensor);
    pool_free(pool);
    checkpoint_free(checkpoint);
}

TEST(a_dense_tensor_is_read)
{
    CHECK_STATUS(read_legacy(BYTES(OBJECT("K\0K\2K\2\x86K\2K\1\x86"))),
                 ASSAY_OK, &err);
    check_floats((const float[]){1, 2, 3, 4}, 4);
}

TEST(a_transposed_tensor_becomes_dense)
{
    CHECK_STATUS(read_legacy(BYTES(OBJECT("K\0K\2K\2\x86K\1K\2\x86"))),
                 ASSAY_OK, &err);
    check_floats((const float[]){1, 3, 2, 4}, 4);
}

TEST(a_part_of_a_storage_is_read)
{
    CHECK_STATUS(read_legacy(BYTES(OBJECT("K\1K\2\x85K\2\x85"))), ASSAY_OK,
                 &err);
    check_floats((const float[]){2, 4}, 2);
}

/* Before PyTorch 1.0 a storage could be part of another: here two elements of
 * "0" from the second on. */
TEST(a_storage_that_is_part_of_another_is_read)
{
    CHECK_STATUS(
        read_legacy(BYTES("\x80\2}" TEXT(
            "\1") "t"
                  "ctorch._utils\n_rebuild_tensor_v2\n("
                  "(" TEXT("\7") "storagectorch\nFloatStorag"
                                 "e\n" TEXT("\1") "0" TEXT("\3") "cpuK\4" TEXT(
                                     "\1") "vK\1K\2\x87tQ"
                                           "K\0K\2\x85K\1"
                                           "\x85\x89NtRs.")),
        ASSAY_OK, &err);
    check_floats((const float[]){2, 3}, 2);
}

/* As Python 2 wrote them. */
TEST(an_ordered_dict_from_a_list_of_pairs_is_read)
{
    CHECK_STATUS(read_legacy(BYTES(
                     "\x80\2"
                     "ccollections\nOrderedDict\n](](" TEXT("\1") "t" TENSOR(
                         "K\0K\1\x85K\1\x85") "ee\x85R.")),
                 ASSAY_OK, &err);
    check_floats((const float[]){1}, 1);
    CHECK_INT(read_legacy(BYTES("\x80\2"
                                "ccollections\nOrderedDict\nK\5\x85R.")),
              ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "the arguments of collections.OrderedDict are not "
                        "what PyTorch writes");
}

/* A copy is made only if necessary: not for the stride of a dimension of one
 * element. Numbers that are pushed and dropped move the storage to an aligned
 * address. */
TEST(strides_that_do_not_matter_need_no_copy)
{
    bool is_aligned = false;

    for (int i = 0; i < 4 && !is_aligned; i++) {
        struct str object = {0};
        struct tensor tensor;
        struct pool *pool;

        add(&object, BYTES("\x80\2"));
        for (int k = 0; k < i; k++)
            add(&object, BYTES("K\1"
                               "0"));
        add(&object, BYTES(OBJECT("K\0K\1K\4\x86K\x9K\1\x86")));
        CHECK_STATUS(read_legacy(object.text, object.n), ASSAY_OK, &err);
        str_release(&object);
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
        CHECK_INT(checkpoint_load(checkpoint, 0, pool, &tensor, &err),
                  ASSAY_OK);
        is_aligned =
            (uintptr_t)checkpoint_tensor(checkpoint, 0)->first % 4 == 0;
        CHECK_INT(pool_usage(pool).held_bytes == 0, is_aligned);
        CHECK_NEAR(tensor_f32(&tensor)[3], 4, 0);
        tensor_release(&tensor);
        checkpoint_free(checkpoint);
        pool_free(pool);
    }
    CHECK(is_aligned);
}

static void check_unwrapped(const char *name)
{
    CHECK_INT(checkpoint_unwrap(checkpoint, &err), ASSAY_OK);
    CHECK_INT(checkpoint_count(checkpoint), 1);
    CHECK_STR(checkpoint_tensor(checkpoint, 0)->name, name);
    checkpoint_free(checkpoint);
}

#define SCALAR TENSOR("K\0))")

TEST(only_a_real_dict_is_unwrapped)
{
    CHECK_STATUS(read_legacy(BYTES("\x80\2}" TEXT("\5") "model}" TEXT(
                     "\1") "a" SCALAR "ss.")),
                 ASSAY_OK, &err);
    check_unwrapped("a");
    CHECK_STATUS(read_legacy(BYTES("\x80\2}" TEXT("\7") "model.a" SCALAR "s.")),
                 ASSAY_OK, &err);
    check_unwrapped("model.a");
    CHECK_STATUS(read_legacy(BYTES("\x80\2}" TEXT("\5") "model" SCALAR "s.")),
                 ASSAY_OK, &err);
    check_unwrapped("model");
}

TEST(a_tensor_without_elements_is_read)
{
    CHECK_STATUS(read_legacy(BYTES(OBJECT("K\0K\0\x85K\1\x85"))), ASSAY_OK,
                 &err);
    check_floats(NULL, 0);
}

TEST(a_tensor_that_reaches_beyond_its_storage_is_refused)
{
    CHECK_INT(read_legacy(BYTES(OBJECT("K\1K\2K\2\x86K\2K\1\x86"))),
              ASSAY_BAD_INPUT);
    CHECK_STR(err.text,
              "tensor t: its shape has more elements than are stored");
    CHECK_INT(read_legacy(BYTES(OBJECT("K\0K\2K\2\x86K\3K\1\x86"))),
              ASSAY_BAD_INPUT);
}

TEST(a_repeated_element_cannot_become_gigabytes)
{
    CHECK_INT(read_legacy(BYTES(OBJECT("K\0J\0\0\0\x40\x85K\0\x85"))),
              ASSAY_BAD_INPUT);
    CHECK_STATUS(read_legacy(BYTES(OBJECT("K\2K\3\x85K\0\x85"))), ASSAY_OK,
                 &err);
    check_floats((const float[]){3, 3, 3}, 3);
}

TEST(dimensions_that_overflow_are_refused)
{
    CHECK_INT(read_legacy(BYTES(OBJECT("K\0(J\0\0\0\x40J\0\0\0\x40J\0\0\0\x40t"
                                       "(K\0K\0K\0t"))),
              ASSAY_BAD_INPUT);
}

/* ---- names ------------------------------------------------------------ */

TEST(a_call_of_anything_else_is_refused_by_name)
{
    static const char wanted[] = "it names posix.system, which is not loaded";

    CHECK_INT(
        read_legacy(BYTES("\x80\2cposix\nsystem\n" TEXT("\4") "true\x85R.")),
        ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, wanted);
    CHECK_INT(read_legacy(BYTES("\x80\4\x8c\5posix\x8c\6system\x93.")),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, wanted);
}

TEST(a_known_class_is_still_not_called)
{
    CHECK_INT(read_legacy(BYTES("\x80\2ctorch\nFloatStorage\n)R.")),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "it calls torch.FloatStorage");
}

TEST(an_opcode_that_tensors_do_not_need_is_refused_by_number)
{
    CHECK_INT(read_legacy(BYTES("\x80\2}i.")), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "opcode 0x69");
}

TEST(a_newer_protocol_is_refused)
{
    CHECK_INT(read_legacy(BYTES("\x80\5}.")), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "pickle protocol 5");
}

TEST(two_tensors_with_the_same_name_are_refused)
{
    CHECK_INT(
        read_legacy(BYTES("\x80\2}(" TEXT("\1") "t" TENSOR("K\0K\1\x85K\1\x85")
                              TEXT("\1") "t" TENSOR("K\0K\1\x85K\1\x85") "u.")),
        ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "two tensors are called t");
}

TEST(the_state_of_anything_but_a_dict_is_refused)
{
    CHECK_INT(read_legacy(BYTES("\x80\2]}b.")), ASSAY_BAD_INPUT);
    CHECK_STATUS(read_legacy(BYTES("\x80\2"
                                   "ccollections\nOrderedDict\n)R}b.")),
                 ASSAY_BAD_INPUT, &err); /* a storage that nothing belongs to */
    CHECK_HAS(err.text, "no tensor belongs to");
}

/* ---- the machine ------------------------------------------------------ */

TEST(an_empty_stack_is_reported_as_damage)
{
    static const char *const pickles[] = {
        "\x80\2.",  "\x80\2R.",  "\x80\2s.",  "\x80\2t.",   "\x80\2u.",
        "\x80\2Q.", "\x80\2((.", "\x80\2]a.", "\x80\2](Re."};

    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        CHECK_INT(read_legacy(pickles[i], strlen(pickles[i])), ASSAY_BAD_INPUT);
        CHECK_STR(err.text, "the pickle is damaged");
    }
}

TEST(a_memo_larger_than_the_pickle_is_reported_as_damage)
{
    CHECK_INT(read_legacy(BYTES("\x80\2}r\0\0\x30\0.")), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "the pickle is damaged");
    CHECK_INT(read_legacy(BYTES("\x80\2}h\7.")), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "the pickle is damaged");
}

TEST(a_dict_that_contains_itself_is_refused)
{
    CHECK_INT(
        read_legacy(BYTES("\x80\2}q\0" TEXT("\1") "ah\0s"
                                                  "0" TENSOR("K\0))") "0h\0.")),
        ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "its dicts are nested more than 64 deep");
}

/* Each dict holds the one before it twice: 2^40 paths. */
TEST(shared_dicts_cannot_make_the_reader_run_forever)
{
    struct str object = {0};

    add(&object, BYTES("\x80\2" TENSOR("K\0))") "0]q\0"));
    for (int i = 0; i < 40; i++) {
        char step[] = "0](h?h?eq?";

        step[4] = step[6] = (char)i;
        step[9] = (char)(i + 1);
        add(&object, BYTES(step));
    }
    add(&object, ".", 1);
    CHECK_INT(read_legacy(object.text, object.n), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "values, more than any checkpoint needs");
    str_release(&object);
}

TEST(a_big_endian_file_is_refused)
{
    struct str file = {0};

    add(&file, BYTES(MAGIC VERSION FACTS("\x89")));
    CHECK_INT(read_bytes(&file), ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "it was written by a big-endian machine");
}

TEST(a_storage_larger_than_the_file_is_reported_as_truncated)
{
    struct str file = {0};

    add(&file, BYTES(MAGIC VERSION FACTS("\x88")));
    add(&file, BYTES(OBJECT("K\0K\1\x85K\1\x85")));
    add(&file, BYTES("\x80\2]" TEXT("\1") "0a."));
    add(&file, BYTES("\xff\xff\xff\xff\xff\xff\xff\x3f"));
    CHECK_INT(read_bytes(&file), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "ends in the middle of its tensors");
}

/* ---- safetensors ------------------------------------------------------ */

static enum assay_status read_safetensors(const char *header, size_t n_data)
{
    char length[8] = {(char)strlen(header)};
    struct str file = {0};

    CHECK(strlen(header) < 128);
    add(&file, length, sizeof length);
    add(&file, header, strlen(header));
    for (size_t i = 0; i < n_data; i++)
        add(&file, "", 1);
    return read_bytes(&file);
}

#define ENTRY(type, shape, place)                                              \
    "{\"t\":{\"dtype\":\"" type "\",\"shape\":" shape                          \
    ",\"data_offsets\":" place "}}"

TEST(a_safetensors_entry_is_read)
{
    CHECK_STATUS(read_safetensors(ENTRY("F32", "[2,2]", "[0,16]"), 16),
                 ASSAY_OK, &err);
    checkpoint_free(checkpoint);
}

TEST(a_safetensors_entry_must_be_in_the_file_and_fit_its_shape)
{
    CHECK_INT(read_safetensors(ENTRY("F32", "[2,2]", "[0,16]"), 15),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "tensor t: its elements are outside the file");
    CHECK_INT(read_safetensors(ENTRY("F32", "[2,3]", "[0,16]"), 16),
              ASSAY_BAD_INPUT);
    CHECK_INT(read_safetensors(ENTRY("F32", "[1]", "[0,16]"), 16),
              ASSAY_BAD_INPUT);
    CHECK_INT(read_safetensors(ENTRY("F32", "[1]", "[8,4]"), 16),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "its elements are outside the file");
    CHECK_INT(read_safetensors(ENTRY("F32", "[-1]", "[0,4]"), 16),
              ASSAY_BAD_INPUT);
}

TEST(an_unknown_safetensors_type_is_named)
{
    CHECK_INT(read_safetensors(ENTRY("C64", "[4]", "[0,4]"), 4),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "tensor t: elements of type C64 are not supported");
}

TEST(an_incomplete_safetensors_header_is_refused)
{
    CHECK_INT(read_safetensors("{\"t\":{\"dtype\":\"F32\"}}", 4),
              ASSAY_BAD_INPUT);
    CHECK_INT(read_safetensors("{\"t\":[]}", 4), ASSAY_BAD_INPUT);
    CHECK_INT(read_safetensors("{", 4), ASSAY_BAD_INPUT);
}

TEST(a_safetensors_header_longer_than_the_file_is_refused)
{
    struct str file = {0};

    add(&file, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff{}"));
    CHECK_INT(read_bytes(&file), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "ends in the middle of its header");
}
