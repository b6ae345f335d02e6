/* What cli/options.h, cli/values.h and base/nearest.h promise. */
#include "base/mem.h"
#include "base/nearest.h"
#include "cli/options.h"
#include "cli/values.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum layout { LAYOUT_NONE, LAYOUT_TREE, LAYOUT_TREE_PLAIN, LAYOUT_JSON };

struct settings {
    bool all, brief;
    int layout, speed;
    const char *title, *output, *html;
    int64_t depth;
    uint64_t memory;
    double scale, share, seconds;
    int sort;
    struct range range;
    struct words metrics, files;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const char *const sorts[] = {"self", "total", "calls", NULL};
static const char *const looks[] = {"rich", "plain", NULL};

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "What to show"},
    {.name = "all", .letter = 'a', .kind = OPTION_FLAG, FIELD(all)},
    {.name = "brief", .letter = 'b', .kind = OPTION_FLAG, FIELD(brief)},
    {.name = "tree",
     .kind = OPTION_MODE,
     .mode = LAYOUT_TREE,
     .value = "plain",
     .choices = looks,
     FIELD(layout)},
    {.name = "json", .kind = OPTION_MODE, .mode = LAYOUT_JSON, FIELD(layout)},
    {.name = "quick", .kind = OPTION_MODE, .mode = 1, FIELD(speed)},
    {.name = "title",
     .kind = OPTION_TEXT,
     .value = "TEXT",
     .is_once = true,
     .help = "what it is called",
     FIELD(title)},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .value = "FILE",
     FIELD(output)},
    {.name = "html",
     .kind = OPTION_FILE,
     .value = "FILE",
     .implied = "run.html",
     FIELD(html)},
    {.name = "depth",
     .letter = 'd',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 100,
     FIELD(depth)},
    {.name = "memory",
     .kind = OPTION_SIZE,
     .value = "SIZE",
     .min = 1 << 20,
     .max = 1 << 30,
     FIELD(memory)},
    {.name = "limit",
     .kind = OPTION_TIME,
     .value = "TIME",
     .min = 0.001,
     .max = 3600,
     FIELD(seconds)},
    {.name = "scale", .kind = OPTION_NUMBER, .value = "X", FIELD(scale)},
    {.name = "share",
     .kind = OPTION_PERCENT,
     .value = "P",
     .max = 0.5,
     FIELD(share)},
    {.name = "sort",
     .letter = 's',
     .kind = OPTION_CHOICE,
     .value = "KEY",
     .choices = sorts,
     .help = "order of the rows",
     .shown_default = "self",
     FIELD(sort)},
    {.name = "iterations", .kind = OPTION_RANGE, .value = "A..B", FIELD(range)},
    {.name = "metric",
     .letter = 'm',
     .kind = OPTION_LIST,
     .value = "NAME",
     .help = "a metric to compute",
     FIELD(metrics)},
    {.name = "a", .kind = OPTION_FILES, .value = "FILE", FIELD(files)},
    {.kind = OPTION_END},
};

static struct settings settings;
static struct arguments arguments;
static struct error err;

/* Reads a command line that is written with single spaces. */
static enum assay_status parse(const char *line)
{
    static char text[512];
    static const char *words[64];
    size_t n = 0;
    char *rest = text, *word;

    arguments_release(&arguments);
    settings = (struct settings){0};
    err = (struct error){0};
    arguments.settings = &settings;
    snprintf(text, sizeof text, "%s", line);
    while ((word = strsep(&rest, " ")) && *line)
        words[n++] = word;
    return options_parse(options, words, n, &arguments, &err);
}

/* The message that the line is refused with. */
static const char *refusal(const char *line)
{
    CHECK_INT(parse(line), ASSAY_BAD_USAGE);
    return err.text;
}

#define CHECK_PARSES(line) CHECK_STATUS(parse(line), ASSAY_OK, &err)

TEST(every_kind_is_stored_in_its_field)
{
    CHECK_PARSES("--all --tree=plain --title x --depth 12 --memory 64M"
                 " --scale -0.25 --share 12.5% --sort calls"
                 " --iterations 3..9 --metric p --metric q --a f g");
    CHECK(settings.all);
    CHECK(!settings.brief);
    CHECK_INT(settings.layout, LAYOUT_TREE_PLAIN);
    CHECK_STR(settings.title, "x");
    CHECK_INT(settings.depth, 12);
    CHECK_INT(settings.memory, 64 << 20);
    CHECK_NEAR(settings.scale, -0.25, 0);
    CHECK_NEAR(settings.share, 0.125, 0);
    CHECK_INT(settings.sort, 2);
    CHECK_INT(settings.range.first, 3);
    CHECK_INT(settings.range.last, 9);
    CHECK_INT(settings.metrics.n, 2);
    CHECK_STR(settings.metrics.items[1], "q");
    CHECK_INT(settings.files.n, 2);
    CHECK_STR(settings.files.items[0], "f");
    CHECK_INT(arguments.operands.n, 0);
}

TEST(a_value_may_follow_or_be_joined_by_name_and_by_letter)
{
    static const char *const lines[] = {"--depth 7", "--depth=7", "-d 7", "-d7",
                                        "-abd7"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CHECK_PARSES(lines[i]);
        CHECK_INT(settings.depth, 7);
    }
    CHECK(settings.all);
    CHECK(settings.brief);
}

TEST(options_may_be_anywhere_and_two_dashes_end_them)
{
    CHECK_PARSES("one -a two -- --brief -o");
    CHECK(settings.all);
    CHECK(!settings.brief);
    CHECK_INT(arguments.operands.n, 4);
    CHECK_STR(arguments.operands.items[0], "one");
    CHECK_STR(arguments.operands.items[3], "-o");
}

TEST(a_single_dash_is_an_operand)
{
    CHECK_PARSES("- -o -");
    CHECK_STR(arguments.operands.items[0], "-");
    CHECK_STR(settings.output, "-");
}

TEST(an_optional_value_only_counts_when_joined)
{
    CHECK_PARSES("--tree plain");
    CHECK_INT(settings.layout, LAYOUT_TREE);
    CHECK_STR(arguments.operands.items[0], "plain");
    CHECK_PARSES("--html x");
    CHECK_STR(settings.html, "run.html");
    CHECK_PARSES("--html=x");
    CHECK_STR(settings.html, "x");
    CHECK_PARSES("");
    CHECK(settings.html == NULL);
}

TEST(the_last_of_two_values_counts)
{
    CHECK_PARSES("-d 3 --depth 4");
    CHECK_INT(settings.depth, 4);
}

TEST(given_options_are_marked)
{
    CHECK_PARSES("--brief");
    CHECK_INT(arguments.given, 1 << 2);
}

TEST(modes_of_one_field_exclude_each_other)
{
    CHECK_STR(refusal("--tree=plain --json"),
              "--tree and --json cannot both be given; choose one");
    CHECK_STR(refusal("--json --tree=plain"),
              "--json and --tree cannot both be given; choose one");
    CHECK_PARSES("--tree --tree=plain --quick");
    CHECK_INT(settings.layout, LAYOUT_TREE_PLAIN);
    CHECK_INT(settings.speed, 1);
}

TEST(a_list_of_files_ends_at_the_next_option)
{
    CHECK_PARSES("--a x y -b z");
    CHECK_INT(settings.files.n, 2);
    CHECK(settings.brief);
    CHECK_STR(arguments.operands.items[0], "z");
    CHECK_PARSES("--a=x y");
    CHECK_INT(settings.files.n, 1);
    CHECK_STR(arguments.operands.items[0], "y");
}

TEST(nothing_after_help_is_read)
{
    CHECK_PARSES("--all --help --nonsense");
    CHECK(arguments.wants_help);
    CHECK_PARSES("-ah");
    CHECK(arguments.wants_help);
    CHECK_PARSES("-- --help");
    CHECK(!arguments.wants_help);
}

TEST(an_unknown_option_suggests_the_nearest)
{
    CHECK_STR(refusal("--dept 3"),
              "unknown option '--dept'; did you mean '--depth'?");
    CHECK_STR(refusal("--sotr=self"),
              "unknown option '--sotr'; did you mean '--sort'?");
    CHECK_STR(refusal("--iter=1"),
              "unknown option '--iter'; did you mean '--iterations'?");
    CHECK_STR(refusal("--hlep"),
              "unknown option '--hlep'; did you mean '--help'?");
    CHECK_STR(refusal("--colour"),
              "unknown option '--colour'; --help lists them");
    CHECK_STR(refusal("-ax"), "unknown option '-x'; --help lists them");
}

TEST(an_unknown_option_of_any_length_fits_the_message)
{
    CHECK_HAS(refusal("--aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
                      "ffffffffffgggggggggg=1"),
              "unknown option '--aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...'");
}

TEST(an_option_that_may_be_given_once_is_refused_by_name_the_second_time)
{
    CHECK_STR(refusal("--title a --title=b"),
              "--title is given twice; it takes one TEXT");
}

TEST(a_missing_value_is_reported)
{
    CHECK_STR(refusal("--depth"), "--depth needs a value: --depth N");
    CHECK_STR(refusal("-o"), "--output needs a value: --output FILE");
    CHECK_STR(refusal("-o --all"), "--output needs a value: --output FILE");
    CHECK_PARSES("--output=--all");
    CHECK_STR(settings.output, "--all");
}

TEST(a_value_for_a_flag_is_reported)
{
    CHECK_STR(refusal("--all=yes"), "--all takes no value");
    CHECK_STR(refusal("--json=yes"), "--json takes no value");
}

TEST(a_wrong_choice_suggests_the_nearest_or_all)
{
    CHECK_STR(refusal("--sort slef"),
              "--sort: unknown value 'slef'; did you mean 'self'?");
    CHECK_STR(refusal("--sort weight"),
              "--sort: unknown value 'weight'; use self, total or calls");
    CHECK_STR(refusal("--tree=plian"),
              "--tree: unknown value 'plian'; did you mean 'plain'?");
}

TEST(numbers_outside_their_bounds_are_refused)
{
    CHECK_STR(refusal("--depth 0"),
              "--depth: 0 is too small; it must be at least 1");
    CHECK_STR(refusal("--depth 101"),
              "--depth: 101 is too large; it must be at most 100");
    CHECK_STR(refusal("--memory 5k"),
              "--memory: 5k is too small; it must be at least 1.0 MiB");
    CHECK_STR(refusal("--share 51%"),
              "--share: 51% is too large; it must be at most 50%");
    CHECK_STR(refusal("--share -1%"),
              "--share: -1% is too small; it must be at least 0%");
}

TEST(words_that_are_not_numbers_are_refused)
{
    CHECK_STR(refusal("--depth x"), "--depth: 'x' is not a whole number");
    CHECK_STR(refusal("--depth 1.5"), "--depth: '1.5' is not a whole number");
    CHECK_STR(refusal("--depth="), "--depth: '' is not a whole number");
    CHECK_STR(refusal("--depth 99999999999999999999"),
              "--depth: the number 99999999999999999999 is too large");
    CHECK_STR(refusal("--scale nan"), "--scale: 'nan' is not a number");
    CHECK_STR(refusal("--scale 1e999"), "--scale: '1e999' is not a number");
    CHECK_STR(refusal("--scale 0x10"), "--scale: '0x10' is not a number");
    CHECK_STR(refusal("--share 5"),
              "--share: '5' has no percent sign; write 5%");
    CHECK_STR(refusal("--share five%"),
              "--share: 'five%' is not a percentage such as 5%");
}

TEST(times_are_in_seconds_or_have_a_unit)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"0", 0},      {"30", 30},     {"0.5", 0.5},
                 {"5s", 5},     {"500ms", 0.5}, {"250 ms", 0.25},
                 {"2min", 120}, {"1.5h", 5400}};
    static const char *const bad[] = {"",   "s",     "5 sec", "5S",
                                      "5m", "5s ms", "5  s",  "inf"};
    double seconds;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(value_time(cases[i].text, &seconds, &err), ASSAY_OK);
        CHECK_NEAR(seconds, cases[i].seconds, 1e-12);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(value_time(bad[i], &seconds, NULL), ASSAY_BAD_USAGE);
    CHECK_PARSES("--limit 2min");
    CHECK_NEAR(settings.seconds, 120, 0);
    CHECK_STR(refusal("--limit 5m"), "--limit: '5m' is not a time such as 30, "
                                     "500ms, 30s or 2min");
    CHECK_STR(refusal("--limit 2h"),
              "--limit: 2h is too large; it must be at most 1 h 0 min");
    CHECK_STR(refusal("--limit 0"),
              "--limit: 0 is too small; it must be at least 1.00 ms");
}

TEST(sizes_have_units_of_1024_and_of_1000)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},           {"512", 512},          {"512B", 512},
                 {"64k", 65536},     {"64KiB", 65536},      {"64kB", 64000},
                 {"1.5M", 1572864},  {"1.5 MiB", 1572864},  {"2GB", 2000000000},
                 {"1T", 1ull << 40}, {"1TB", 1000000000000}};
    static const char *const bad[] = {"", "-1", "M", "1Q", "1MiBs", "1 2"};
    uint64_t bytes;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(value_size(cases[i].text, &bytes, &err), ASSAY_OK);
        CHECK_INT(bytes, cases[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(value_size(bad[i], &bytes, NULL), ASSAY_BAD_USAGE);
    CHECK_INT(value_size("99999999T", &bytes, NULL), ASSAY_BAD_USAGE);
}

TEST(ranges_may_be_open_on_either_side)
{
    static const char *const bad[] = {
        "",     "..",  "a",     "3..2",   "1...2",
        "1..b", "1-2", "-1..2", "1..2..", "99999999999999999999"};
    struct range range;

    CHECK_INT(value_range("4", &range, NULL), ASSAY_OK);
    CHECK_INT(range.first, 4);
    CHECK_INT(range.last, 4);
    CHECK_INT(value_range("4..", &range, NULL), ASSAY_OK);
    CHECK_INT(range.first, 4);
    CHECK(range.last == UINT64_MAX);
    CHECK_INT(value_range("..4", &range, NULL), ASSAY_OK);
    CHECK_INT(range.first, 0);
    CHECK_INT(range.last, 4);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(value_range(bad[i], &range, NULL), ASSAY_BAD_USAGE);
}

TEST(distance_counts_slips)
{
    CHECK_INT(word_distance("show", "show"), 0);
    CHECK_INT(word_distance("shwo", "show"), 1); /* swapped */
    CHECK_INT(word_distance("shw", "show"), 1);  /* left out */
    CHECK_INT(word_distance("shoow", "show"), 1);
    CHECK_INT(word_distance("snow", "show"), 1);
    CHECK_INT(word_distance("", "show"), 4);
    CHECK_INT(word_distance("kitten", "sitting"), 3);
}

TEST(the_nearest_word_wins_and_a_far_one_is_not_offered)
{
    struct nearest nearest = nearest_to("tabel");

    nearest_offer(&nearest, "tree");
    nearest_offer(&nearest, "cable");
    nearest_offer(&nearest, "table");
    nearest_offer(&nearest, "tables");
    CHECK_STR(nearest.candidate, "table");
    nearest = nearest_to("weight");
    nearest_offer(&nearest, "table");
    CHECK(nearest.candidate == NULL);
}

static const struct option *option_named(const char *name)
{
    const struct option *o = options;

    while (!o->name || strcmp(o->name, name) != 0)
        o++;
    return o;
}

static void check_words(const char *name, const char *label,
                        const char *sentence)
{
    const struct option *option = option_named(name);
    struct str text = {0};

    CHECK_INT(option_label(option, &text), ASSAY_OK);
    CHECK_STR(str_text(&text), label);
    str_clear(&text);
    if (sentence) {
        CHECK_INT(option_sentence(option, &text), ASSAY_OK);
        CHECK_STR(str_text(&text), sentence);
    }
    str_release(&text);
}

TEST(an_option_is_described_in_words)
{
    check_words("all", "--all", NULL);
    check_words("json", "--json", NULL);
    check_words("tree", "--tree[=plain]", NULL);
    check_words("html", "--html[=FILE]", NULL);
    check_words("a", "--a FILE...", NULL);
    check_words("title", "--title TEXT", "what it is called");
    check_words("metric", "--metric NAME",
                "a metric to compute; may be given again");
    check_words("sort", "--sort KEY",
                "order of the rows: self, total or calls (default: self)");
}

TEST(reading_leaks_nothing_without_memory)
{
    long before;

    arguments_release(&arguments);
    before = mem_live();
    mem_fail_at(0);
    CHECK_INT(parse("one two"), ASSAY_NOMEM);
    mem_fail_at(-1);
    CHECK_HAS(err.text, "out of memory");
    arguments_release(&arguments);
    CHECK_INT(mem_live(), before);
}
