#!/usr/bin/python3
"""Checks that each Debian package is named in one place only.

    scripts/check_packages.py ROOT

packages/*.txt hold the names, each once and in order; scripts/setup.sh alone
installs them, and nothing else in the tree says what to install.
"""
import pathlib
import re
import sys

INSTALLS = re.compile(r"\bapt(?:-get)? install\b")


def read_list(path):
    lines = (line.split("#")[0].strip()
             for line in path.read_text().splitlines())
    return [line for line in lines if line]


def check(root):
    home = {}
    for path in sorted((root / "packages").glob("*.txt")):
        names = read_list(path)
        if names != sorted(names):
            yield f"packages/{path.name}: not in order"
        for name in names:
            if name in home:
                yield f"packages/{path.name}: {name} is in {home[name]} too"
            home[name] = f"packages/{path.name}"
    for folder, pattern in ((".", "*"), (".ci", "*"), ("cmake", "*"),
                            ("docs", "**/*.md"), ("scripts", "*.sh")):
        for path in sorted((root / folder).glob(pattern)):
            if path.is_file() and path.name != "setup.sh" \
                    and INSTALLS.search(path.read_text()):
                yield (f"{path.relative_to(root)}: installs packages; "
                       "scripts/setup.sh does that")


def main(root):
    problems = list(check(pathlib.Path(root)))
    print("\n".join(problems) or "every package is named once")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
