#!/usr/bin/python3
"""Checks the rules of CONTRIBUTING.md that a machine can check.

    scripts/check_style.py ROOT

In C: a first line that says what the file is, the SPDX line in headers, no //
comments, at most 800 lines per file and 100 per function. Everywhere: at most
100 columns, no tabs, no blanks at line ends, one newline at the end, no marks of
unfinished work. File names are unique outside tests/ and name a thing. Names of
static functions in src/ are unique too: debuggers and profilers show nothing else.
"""
import collections
import pathlib
import re
import sys

MAX_COLUMNS = 100
MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 100

FOLDERS = ("bench", "cmake", "examples", "include", "python", "scripts", "src",
           "tests")
SUFFIXES = (".c", ".h", ".cpp", ".py", ".pyi", ".sh", ".cmake", ".js", ".css",
            ".html")
VAGUE = {"util", "utils", "common", "helper", "helpers", "misc"}
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")

# A comment, a string or a character constant, whichever begins first.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                   r"'(?:\\.|[^'\\\n])*'", re.DOTALL)

# A static function, or one that a macro defines; in our layout it begins in the
# first column.
STATIC = re.compile(r"^(?:static\b[^;={}()#]*?\b(?!__attribute__)(\w+)\(|"
                    r"VARIANTS\([^,()]*,\s*(\w+),|WIDEN_FORWARD\((\w+),)",
                    re.MULTILINE)


def our_files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
                yield path


def check_text(text):
    """Yields (line, problem) for a text in any language."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns; at most {MAX_COLUMNS}"
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if UNFINISHED.search(line):
            yield number, "unfinished; finish it or file an issue"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "not exactly one newline at the end"


def check_head(path, text):
    """The file's first comment: what it is, and the licence in headers."""
    head = text.partition("*/")[0]
    name = path.as_posix()
    if path.parts[0] in ("src", "include"):
        name = "/".join(path.parts[1:])
    if path.parts[0] in ("src", "include") or path.suffix == ".h":
        if not text.startswith(f"/* {name} - "):
            yield 1, f'the first line must begin with "/* {name} - "'
    elif not text.startswith("/* "):
        yield 1, "the first line must be a comment that says what the file is"
    if path.suffix == ".h" and "SPDX-License-Identifier: MIT" not in head:
        yield 1, "no SPDX-License-Identifier: MIT in the first comment"


def check_functions(lines):
    """In our layout, a function's braces stand alone in the first column."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            length = number - begin + 1
            if length > MAX_FUNCTION_LINES:
                yield begin, (f"a function of {length} lines; "
                              f"at most {MAX_FUNCTION_LINES}")
            begin = None


def check_c(path, text):
    lines = text.splitlines()
    yield from check_head(path, text)
    for match in TOKEN.finditer(text):
        if match.group().startswith("//"):
            yield text.count("\n", 0, match.start()) + 1, "a // comment"
    if len(lines) > MAX_FILE_LINES:
        yield len(lines), f"{len(lines)} lines; at most {MAX_FILE_LINES}"
    yield from check_functions(lines)


def check_names(paths):
    places = collections.defaultdict(list)
    for path in paths:
        if path.stem in VAGUE:
            yield f"{path}: name it after the thing it holds"
        if path.parts[0] not in ("tests", "include") \
                and path.name != "CMakeLists.txt":
            places[path.name].append(path.as_posix())
    for name, found in places.items():
        if len(found) > 1:
            yield f"{name}: the name of {len(found)} files: {', '.join(found)}"


def check_statics(root, paths):
    places = collections.defaultdict(set)
    for path in paths:
        if path.parts[0] == "src" and path.suffix == ".c":
            code = TOKEN.sub("", (root / path).read_text())
            for match in STATIC.finditer(code):
                places[match.group(match.lastindex)].add(path.as_posix())
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield (f"{name}(): static in {len(found)} files; give it the noun "
                   f"of its file: {', '.join(sorted(found))}")


def check(root):
    paths = [path.relative_to(root) for path in our_files(root)]
    yield from check_names(paths)
    yield from check_statics(root, paths)
    for path in paths:
        text = (root / path).read_text()
        problems = list(check_text(text))
        if path.suffix in (".c", ".h", ".cpp"):
            problems += check_c(path, text)
        for line, problem in problems:
            yield f"{path}:{line}: {problem}"


def main(root):
    problems = list(check(pathlib.Path(root)))
    print("\n".join(problems) or "every file follows the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
