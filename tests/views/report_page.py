"""What the tests of the report's page share. They are started as

    TEST.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote.
"""
import pathlib
import sys
import unittest

import browser

PAGES = pathlib.Path(sys.argv[1]).resolve()
SCREENSHOTS = pathlib.Path(sys.argv[2])
TABS = ("overview", "flame", "table", "timeline", "graph", "memory", "roofline", "latency",
        "pictures", "machine")


class Report(browser.Page):
    def show(self, page, tab="flame", *how, **more):
        self.open(f"{(PAGES / page).as_uri()}.html#{tab}", *how, **more)

    def cell(self, name):
        for cell in self.find_all(".icicle .cell"):
            if cell.get_attribute("aria-label").startswith(name + ","):
                return cell
        self.fail(f"{name} is not in the tree")

    def names_in_tree(self):
        return {cell.get_attribute("aria-label").split(",")[0]
                for cell in self.find_all(".icicle .cell")}

    def pixels(self):
        """How many different colours the timeline's canvas has."""
        return self.run_script("""
            const canvas = document.querySelector(".timeline canvas");
            const copy = document.createElement("canvas");
            copy.width = canvas.width;
            copy.height = canvas.height;
            const pen = copy.getContext("2d", {willReadFrequently: true});
            pen.drawImage(canvas, 0, 0);
            const data = pen.getImageData(0, 0, copy.width, copy.height).data;
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4)
                seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
            return seen.size;""")


def main():
    """Runs the tests of the program with one browser."""
    browser.start(SCREENSHOTS)
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:])
    finally:
        browser.stop()
