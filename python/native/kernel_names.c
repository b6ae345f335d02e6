/* kernel_names.c - scopes for kernels by their names; see extension_internal.h.
 *
 * "void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)" is
 * "at::native::vectorized_elementwise_kernel" on screens. */
#include "extension_internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { N_NAMES = 1024, N_SCOPES = 4096, MOST_TEXT = 128 };

/* CUPTI gives every record of a kernel the same pointer. */
static struct {
    const char *name;
    char text[MOST_TEXT];
} names[N_NAMES];

/* Copies a readable name without its arguments, those of templates too. */
static void name_shorten(const char *name, char *text)
{
    size_t n = 0;
    int depth = 0;

    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    for (; *name && n + 1 < MOST_TEXT; name++) {
        bool is_anonymous = strncmp(name, "(anonymous namespace)::", 23) == 0;

        if (is_anonymous)
            name += 22;
        else if (*name == '<')
            depth++;
        else if (*name == '>')
            depth -= depth > 0;
        else if (*name == '(' && depth == 0)
            break;
        else if (depth == 0)
            text[n++] = *name == '.' ? '_' : *name; /* paths have full stops */
    }
    text[n] = '\0';
}

/* The C++ library that PyTorch stands on makes names readable. */
static void name_read(const char *name, char *text)
{
    static char *(*demangle)(const char *name, char *buffer, size_t *n,
                             int *status);
    void *library = demangle ? NULL
                             : dlopen("libstdc++.so.6",
                                      RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    char *readable = NULL;

    if (library)
        *(void **)&demangle = dlsym(library, "__cxa_demangle");
    if (demangle && strncmp(name, "_Z", 2) == 0)
        readable = demangle(name, NULL, NULL, NULL);
    name_shorten(readable ? readable : name, text);
    if (!text[0])
        snprintf(text, MOST_TEXT, "kernel");
    free(readable);
}

static const char *name_of(const char *name)
{
    size_t at = ((uintptr_t)name >> 3) % N_NAMES;

    if (names[at].name != name) {
        name_read(name, names[at].text);
        names[at].name = name;
    }
    return names[at].text;
}

assay_scope_t kernel_scope(assay_scope_t scope, const char *name)
{
    static struct {
        assay_scope_t below, scope;
        const char *name;
    } known[N_SCOPES];
    size_t at = (((uintptr_t)name >> 3) ^ scope * 2654435761u) % N_SCOPES;

    if (!name)
        return scope;
    if (known[at].name != name || known[at].below != scope) {
        known[at].scope = assay_scope(scope, name_of(name), "kernel");
        known[at].below = scope;
        known[at].name = name;
    }
    return known[at].scope;
}
