#!/usr/bin/python3
"""Checks that the links between our own pages and files are not broken.

    scripts/check_links.py ROOT
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def check(root):
    for path in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        for target in LINK.findall(path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                yield f"{path.relative_to(root)}: there is no {target}"


def main(root):
    problems = list(check(pathlib.Path(root)))
    print("\n".join(problems) or "no link is broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
