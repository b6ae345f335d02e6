#!/usr/bin/python3
"""Checks that the documentation and the help screens name the same options.

    scripts/check_options.py ROOT PROGRAM

Every option of a command is on one of its pages, which docs/README.md lists;
every option on a page belongs to some command, or to another program.
"""
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\| \[\S+\]\((\S+)\) \| `assay (\w+)", re.M)
COMMAND = re.compile(r"^  ([a-z]+)(?: |$)", re.M)
OPTION = re.compile(r"^ {2,6}(?:-(\w), )?--([a-z][\w-]*)", re.M)
MENTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
OTHERS = {"cflags", "libs", "logdir", "rm", "cpus", "gpus", "entrypoint",
          "runtime", "help", "version", "epochs"}  # the last one: python -m assay train.py


def is_on(page, letter, name):
    if re.search(rf"(?<![\w-])--{name}(?![\w-])", page):
        return True
    return letter and re.search(rf"(?<![\w-])-{letter}(?!\w)", page)


def check(pages, screens):
    """pages: name to text; screens: command to its help."""
    of_command = {}
    known = set(OTHERS)
    for page, command in ROW.findall(pages["README.md"]):
        of_command[command] = of_command.get(command, "") + pages[page]
    for command, screen in screens.items():
        for letter, name in OPTION.findall(screen):
            known.add(name)
            text = of_command.get(command, "")
            if name not in OTHERS and not is_on(text, letter, name):
                yield f"{command}: none of its pages mentions --{name}"
    for page, text in pages.items():
        for name in sorted(set(MENTION.findall(text)) - known):
            yield f"{page}: no command has --{name}"


def main(root, program):
    def ask(*words):
        return subprocess.run([program, *words], check=True, text=True,
                              capture_output=True).stdout

    pages = {path.name: path.read_text()
             for path in sorted(pathlib.Path(root).glob("docs/*.md"))}
    screens = {name: ask("help", name) for name in COMMAND.findall(ask("help"))}
    problems = list(check(pages, screens))
    print("\n".join(problems) or "pages and help name the same options")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
