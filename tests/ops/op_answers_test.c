/* tests/ops/op_answers_test.c - what every op supports besides its kernels,
 * against the list in op_answers.txt. */
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { line_size = 128 };

/* The line of an op in the list. */
static bool find_line(const char *name, char line[line_size])
{
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/ops/op_answers.txt", "r");
    char word[line_size];
    bool is_found = false;

    CHECK(file != NULL);
    while (!is_found && fgets(line, line_size, file))
        is_found = sscanf(line, "%127s", word) == 1 && strcmp(word, name) == 0;
    fclose(file);
    return is_found;
}

static void make_line(const struct op_class *op, char line[line_size])
{
    snprintf(line, line_size, "%-26s%-6s%-10s%-6s%s\n", op->name,
             attr_fields(op) ? "text" : "-", op->channels ? "channels" : "-",
             op->to_onnx ? "onnx" : "-",
             op->counted || op->is_view ? "prediction" : "-");
}

TEST(the_list_says_what_every_op_supports)
{
    for (size_t i = 0; op_classes[i]; i++) {
        char listed[line_size] = "", made[line_size];

        make_line(op_classes[i], made);
        if (!find_line(op_classes[i]->name, listed))
            listed[0] = '\0';
        CHECK_STR(listed, made);
    }
}

TEST(the_list_names_no_op_that_is_gone)
{
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/ops/op_answers.txt", "r");
    char line[line_size], word[line_size];

    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) {
        if (line[0] != '#' && sscanf(line, "%127s", word) == 1 &&
            !op_find(word))
            fail_msg("op_answers.txt has %s, which is not an op", word);
    }
    fclose(file);
}

TEST(an_op_without_attributes_lists_none)
{
    for (size_t i = 0; op_classes[i]; i++)
        CHECK(op_classes[i]->attrs_bytes || !op_classes[i]->fields);
}
