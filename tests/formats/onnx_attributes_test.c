/* Every attribute of the standard is handled, or has a rule and a reason; a
 * node with any other is refused. onnx_attributes.txt has those of the
 * standard. */
#include "onnx_build.h"

#include "base/file.h"
#include "formats/onnx/onnx_frame_internal.h"

#include <dirent.h>
#include <stdio.h>

#define SOURCES TEST_SOURCE_DIR "/src/formats/onnx"

static struct error err;

static struct str read_text(const char *path)
{
    struct str text = {0};

    CHECK_STATUS(file_read(path, 4 << 20, &text, &err), ASSAY_OK, &err);
    return text;
}

static bool is_supported(const char *op_type)
{
    struct onnx_op_support op;

    for (size_t i = 0; onnx_op_support(i, &op); i++) {
        if (strcmp(op.op_type, op_type) == 0)
            return true;
    }
    return false;
}

/* Calls a function with every op of the standard and its attributes. */
static size_t walk_standard(void (*visit)(const char *op_type, char *names))
{
    struct str text =
        read_text(TEST_SOURCE_DIR "/tests/formats/onnx_attributes.txt");
    char *rest = text.text, *line;
    size_t n = 0;

    while ((line = strsep(&rest, "\n"))) {
        char *names = strchr(line, ' ');

        if (*line == '#' || !names)
            continue;
        *names++ = '\0';
        visit(line, names);
        n++;
    }
    str_release(&text);
    return n;
}

/* Cuts "axis:i" in two and returns the types. */
static const char *cut_types(char *name)
{
    char *types = strchr(name, ':');

    CHECK(types && types[1]);
    *types = '\0';
    return types + 1;
}

static void check_known(const char *op_type, char *names)
{
    char *name;

    while (is_supported(op_type) && (name = strsep(&names, " "))) {
        (void)cut_types(name);
        if (onnx_attribute_fate(op_type, name) == ONNX_UNKNOWN)
            print_error("%s of %s has no rule\n", name, op_type);
        CHECK(onnx_attribute_fate(op_type, name) != ONNX_UNKNOWN);
    }
}

TEST(every_attribute_of_the_standard_has_a_rule)
{
    CHECK(walk_standard(check_known) > 100);
}

/* ---- the tables have nothing else -----------------------------------------
 */

static const char *wanted_op, *wanted_name, *wanted_types;
static bool is_found;

static void look_for(const char *op_type, char *names)
{
    char *name;

    if (wanted_op && strcmp(op_type, wanted_op) != 0)
        return;
    while ((name = strsep(&names, " "))) {
        const char *types = cut_types(name);

        is_found |= strcmp(name, wanted_name) == 0 &&
                    (!wanted_types || strcmp(types, wanted_types) == 0);
    }
}

/* types NULL: any. */
static void check_standard(const char *op_type, const char *name,
                           const char *types)
{
    wanted_op = op_type;
    wanted_name = name;
    wanted_types = types;
    is_found = false;
    (void)walk_standard(look_for);
    if (!is_found)
        print_error("the standard has no %s of %s\n", name,
                    op_type ? op_type : "any op");
    CHECK(is_found);
}

/* All files that map ops, as one text. */
static struct str read_sources(void)
{
    struct str all = {0};
    DIR *folder = opendir(SOURCES);
    struct dirent *entry;

    CHECK(folder);
    while ((entry = readdir(folder))) {
        struct str text;
        char path[512];

        if (!str_ends_with(entry->d_name, ".c") ||
            strcmp(entry->d_name, "onnx_attributes.c") == 0)
            continue;
        snprintf(path, sizeof path, SOURCES "/%.200s", entry->d_name);
        text = read_text(path);
        CHECK_INT(str_append_n(&all, text.text, text.n), ASSAY_OK);
        str_release(&text);
    }
    closedir(folder);
    return all;
}

TEST(what_is_handled_is_of_the_standard_and_asked_for)
{
    struct str sources = read_sources();
    const char *op_type, *names, *before = "";

    for (size_t i = 0; onnx_attribute_handled(i, &op_type, &names); i++) {
        char copy[512], quoted[80], *rest = copy, *name;

        CHECK(strcmp(before, op_type) < 0); /* it is searched in this order */
        before = op_type;
        CHECK(is_supported(op_type));
        snprintf(copy, sizeof copy, "%s", names);
        while ((name = strsep(&rest, " "))) {
            const char *types = cut_types(name);

            check_standard(op_type, name, types);
            snprintf(quoted, sizeof quoted, "\"%s\"", name);
            if (!strstr(sources.text, quoted))
                print_error("no mapping asks for %s of %s\n", name, op_type);
            CHECK(strstr(sources.text, quoted));
        }
    }
    str_release(&sources);
}

/* "| `Cast` | `round_mode` | ignored | says ... |" */
TEST(rules_are_of_the_standard_and_in_the_documents)
{
    static const char *const fates[] = {[ONNX_ONLY_DEFAULT] =
                                            "only its default",
                                        [ONNX_IGNORED] = "ignored",
                                        [ONNX_REFUSED] = "refused"};
    struct str page = read_text(TEST_SOURCE_DIR "/docs/onnx.md");
    struct onnx_attribute_rule rule;

    for (size_t i = 0; onnx_attribute_rule(i, &rule); i++) {
        char line[256];

        check_standard(rule.op_type, rule.name, NULL);
        snprintf(line, sizeof line, "| %s%s%s | `%s` | %s | %s |",
                 rule.op_type ? "`" : "", rule.op_type ? rule.op_type : "any",
                 rule.op_type ? "`" : "", rule.name, fates[rule.fate],
                 rule.reason);
        CHECK_HAS(page.text, line);
    }
    str_release(&page);
}

/* ---- nodes ----------------------------------------------------------------
 */

/* A model of one node that reads x, a float32 of 2x3. */
static enum assay_status load_node(struct str node, int64_t opset)
{
    struct str graph = {0};
    struct pool *pool;
    struct graph *made = NULL;
    enum assay_status st;

    put_message(&graph, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "2x3"));
    put_message(&graph, GRAPH_NODE, node);
    put_message(&graph, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "?x?"));
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    st = load_bytes(make_model(graph, opset), &(struct model_file_options){0},
                    pool, &made, &err);
    graph_free(made);
    pool_free(pool);
    return st;
}

static struct str node_with(const char *op_type, const char *inputs,
                            const char *attribute, int64_t value)
{
    struct str node = make_node(op_type, "n", inputs, "y");

    put_int_attribute(&node, attribute, value);
    return node;
}

TEST(a_node_with_an_unknown_attribute_is_refused_by_its_name)
{
    CHECK_INT(load_node(node_with("Relu", "x", "slope", 0), 17),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "node n (Relu): its attribute 'slope' is not known");
}

TEST(an_attribute_of_another_opset_is_refused)
{
    CHECK_STATUS(load_node(node_with("Softmax", "x", "axis", 1), 17), ASSAY_OK,
                 &err);
    CHECK_STATUS(load_node(node_with("Relu", "x", "consumed_inputs", 0), 1),
                 ASSAY_OK, &err);
    CHECK_INT(load_node(node_with("Add", "x x", "broadcast", 1), 17),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "attribute 'broadcast' means nothing in opset 17");
}

/* A number where the standard has a list would be read as an empty list. */
TEST(an_attribute_of_another_type_is_refused)
{
    CHECK_INT(load_node(node_with("Squeeze", "x", "axes", 0), 11),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "attribute 'axes' has type 2, which the standard does "
                        "not allow there");
}

/* The 65th attribute is looked at as the first is. */
TEST(an_attribute_after_many_others_is_refused_too)
{
    struct str node = make_node("Softmax", "n", "x", "y");

    for (int i = 0; i < 70; i++)
        put_int_attribute(&node, "axis", 1);
    put_int_attribute(&node, "temperature", 1);
    CHECK_INT(load_node(node, 17), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "attribute 'temperature' is not known");
}

TEST(an_attribute_may_be_there_with_its_default_alone)
{
    struct str node = make_node("Range", "n", "x x x", "y");

    put_int_attribute(&node, "stash_type", 10);
    CHECK_INT(load_node(node, 27), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "attribute 'stash_type' is 10; only 1 is supported");
}

TEST(an_attribute_of_strings_is_refused_with_the_reason)
{
    CHECK_INT(load_node(node_with("Constant", "", "value_string", 0), 17),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "attribute 'value_string' is not supported (strings)");
}
