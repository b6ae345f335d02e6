/* cli/cmd_serve.c - assay serve: a folder of runs in a browser. */
#include "cli/command.h"

#include "cli/interrupt.h"
#include "cli/result.h"
#include "serve/serve.h"

struct settings {
    int64_t port;
};

enum { SERVE_PORT = 8517 };

static const struct settings defaults = {.port = SERVE_PORT};

static const struct option options[] = {
    {OPT_INTEGER("port", "N", 0, 65535), .letter = 'p',
     .help = "port on 127.0.0.1; 0: one that is free", .shown_default = "8517",
     OPTION_FIELD(struct settings, port)},
    {.kind = OPTION_END},
};

static enum assay_status run_serve(const struct arguments *arguments,
                                   struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct serve serve = {.folder.path = arguments->operands.n
                                             ? arguments->operands.items[0]
                                             : "."};
    struct server *server = NULL;
    struct str text = {0};
    enum assay_status st = folder_refresh(&serve.folder, err);

    if (!st)
        st = server_open((unsigned)settings->port, &server, err);
    if (!st && str_printf(&text, "serves %s\nopen   http://127.0.0.1:%u/\n",
                          serve.folder.path, server_port(server)))
        st = error_nomem(err, 0, "the address");
    if (!st)
        st = result_print(text.text, err);
    if (!st)
        st = server_run(server, serve_answer, &serve, interrupt_watch_quietly(),
                        err);
    str_release(&text);
    server_close(server);
    serve_release(&serve);
    return st;
}

const struct command cmd_serve = {
    .name = "serve",
    .section = "Runs",
    .purpose = "show the runs of a folder in a browser, live",
    .usage = TEXTS("serve [options] [FOLDER]"),
    .operands = {.min = 0, .max = 1, .endings = TEXTS("")},
    .description = TEXTS(
        "Shows the folder's runs as a list, with the trend of each model and "
        "whether a run is slower than the one before it by the rules of "
        "`assay compare`. Each run opens as the page of `assay report`, and "
        "two of them as their difference. The page of a run that is being "
        "recorded loads itself again.",
        "Only programs on this machine can reach it (127.0.0.1), only the "
        "folder's own files are read, and nothing is changed. Ctrl-C ends it."),
    .options = options,
    .examples = EXAMPLES({"serve runs/", "then open the address it prints"},
                         {"serve --port 0", "the current folder, on any port "
                                            "that is free"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_serve,
};
