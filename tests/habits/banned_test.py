#!/usr/bin/python3
"""Checks that each banned function is refused where it is banned, and only there.

    banned_test.py COMPILER ROOT
"""
import os
import re
import subprocess
import sys

HEAD = """#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char *gets(char *);
void f(char *a, const char *b, va_list v);
void f(char *a, const char *b, va_list v)
{
(void)a, (void)b, (void)v;
"""

EVERYWHERE = {
    "strcpy": "strcpy(a, b)", "strcat": "strcat(a, b)",
    "strncpy": "strncpy(a, b, 2)", "strncat": "strncat(a, b, 2)",
    "sprintf": 'sprintf(a, "%s", b)', "vsprintf": "vsprintf(a, b, v)",
    "gets": "gets(a)", "strtok": "strtok(a, b)", "atoi": "atoi(b)",
    "atol": "atol(b)", "atoll": "atoll(b)", "atof": "atof(b)",
}
IN_LIBRARY = {
    "exit": "exit(1)", "abort": "abort()", "printf": 'printf("%s", b)',
    "vprintf": "vprintf(b, v)", "stderr": "fputs(b, stderr)",
    "puts": "puts(b)", "putchar": "putchar('x')", "perror": "perror(b)",
}
OUTSIDE_MEM = {
    "malloc": "malloc(1)", "calloc": "calloc(1, 1)",
    "realloc": "realloc(a, 1)", "aligned_alloc": "aligned_alloc(8, 8)",
    "strdup": "strdup(b)", "strndup": "strndup(b, 1)",
    "asprintf": 'asprintf(&a, "%s", b)', "free": "free(a)",
}
FINE = {"snprintf": 'snprintf(a, 1, "%s", b)', "strlen": "strlen(b)",
        "memcpy": "memcpy(a, b, 1)", "strtol": "strtol(b, NULL, 10)"}


def refused(compiler, root, calls, options):
    """The functions among calls that the compiler warns about. (Our builds stop
    at a warning; here the compiler goes on to see them all.)"""
    text = HEAD + "".join(f"{call};\n" for call in calls.values()) + "}\n"
    result = subprocess.run(
        [compiler, "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-include",
         f"{root}/src/base/banned.h", *options, "-xc", "-"],
        input=text, capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C"})
    return set(re.findall(r"warning: '(\w+)' is deprecated: banned: ",
                          result.stderr))


def main(compiler, root):
    calls = {**EVERYWHERE, **IN_LIBRARY, **OUTSIDE_MEM, **FINE}
    library, memory = "-DBANNED_IN_LIBRARY", "-DBANNED_OUTSIDE_MEM"
    problems = []
    for place, options, banned in (
            ("tests", [], EVERYWHERE),
            ("src/cli", [memory], {**EVERYWHERE, **OUTSIDE_MEM}),
            ("base/mem.c", [library], {**EVERYWHERE, **IN_LIBRARY}),
            ("the library", [library, memory],
             {**EVERYWHERE, **IN_LIBRARY, **OUTSIDE_MEM})):
        got = refused(compiler, root, calls, options)
        for name in sorted(got.symmetric_difference(banned)):
            problems.append(f"{name} in {place}: "
                            f"{'refused' if name in got else 'allowed'}")
    print("\n".join(problems) or "banned where they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
