#!/usr/bin/python3
"""Plots and the report's page have the same kinds of modules, in the same order,
with the same words and colours.

    plot_kinds_test.py VIEWS

VIEWS is src/views.
"""
import pathlib
import re
import sys

VIEWS = pathlib.Path(sys.argv[1])


def kinds_of_page():
    script = (VIEWS / "html/palette.js").read_text()
    style = (VIEWS / "html/colours.css").read_text()
    light = style[:style.index("data-theme")]
    table = script[:script.index("function")]
    kinds = re.findall(r'key: "([a-z]+)",\s*label: "([^"]+)"', table)
    return [(label, re.search(rf"--fill-{key}: #([0-9a-f]{{6}})", light)[1])
            for key, label in kinds]


def kinds_of_plots():
    source = (VIEWS / "plot_kinds.c").read_text()
    return re.findall(r'\{"([a-z ]+)",\s*INK\(0x([0-9a-f]{6})\)', source)


page, plots = kinds_of_page(), kinds_of_plots()
if len(page) != 11 or page != plots:
    sys.exit(f"the page has {page}\nplots have  {plots}")
