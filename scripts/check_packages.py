#!/usr/bin/python3
"""Checks that each Debian package is named in one place only.

    scripts/check_packages.py ROOT

packages/*.txt hold the names, each once and in order; packages/names.table has
those that differ on other systems. Only scripts/setup.sh installs them, and
nothing else in the tree says what to install.
"""
import pathlib
import re
import sys

# What the host of a container needs is not ours to install.
INSTALLS = re.compile(
    r"\bapt(?:-get)? install\b(?! -y nvidia-container-toolkit)")


def read_list(path):
    lines = (line.split("#")[0].strip()
             for line in path.read_text().splitlines())
    return [line for line in lines if line]


def check_table(path, home):
    """Each row is for a name in a list that differs somewhere; rows are in order."""
    head, *rows = [line.split() for line in read_list(path)] or [[]]
    where = f"packages/{path.name}"
    if not head or any(not re.fullmatch(r"\w+-[\d.]+", name)
                       for name in head):
        yield f"{where}: the columns must be named ID-VERSION_ID"
    if rows != sorted(rows):
        yield f"{where}: not in order"
    for row in rows:
        if len(row) != len(head):
            yield f"{where}: {row[0]}: {len(row)} columns, not {len(head)}"
        if row[0] not in home:
            yield f"{where}: {row[0]} is in no list"
        if all(name == "=" for name in row[1:]):
            yield f"{where}: {row[0]} is called the same everywhere"


def check(root):
    home = {}
    for path in sorted((root / "packages").glob("*.txt")):
        names = read_list(path)
        if names != sorted(names):
            yield f"packages/{path.name}: not in order"
        for name in names:
            if name in home:
                yield f"packages/{path.name}: {name} is also in {home[name]}"
            home[name] = f"packages/{path.name}"
    for path in sorted((root / "packages").glob("*.table")):
        yield from check_table(path, home)
    for folder, pattern in ((".", "*"), (".ci", "*"), ("cmake", "*"),
                            ("docs", "**/*.md"), ("scripts", "*.sh")):
        for path in sorted((root / folder).glob(pattern)):
            if path.is_file() and path.name != "setup.sh" \
                    and INSTALLS.search(path.read_text(errors="replace")):
                yield (f"{path.relative_to(root)}: installs packages; "
                       "scripts/setup.sh does that")


def main(root):
    problems = list(check(pathlib.Path(root)))
    print("\n".join(problems) or "every package is named once")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
