#!/usr/bin/python3
"""Two runs in one page.

    report_compare_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
import json

import browser
import report_page
from report_page import PAGES, Report, TABS


class Two(Report):
    def test_differences_are_in_the_same_views(self):
        self.show("two")
        self.assertIn("old.assay", self.find("#head").text)
        self.assertIn("+25", self.find("#head").text)
        self.assertIn("slower", self.cell("conv1").get_attribute("class"))
        self.keep("two-flame")
        self.run_script("location.hash = 'table'")
        self.assertIn("slower", self.column("verdict"))
        self.assertIn("+25\u00a0%", self.column("change"))
        for tab in TABS[3:]:
            self.run_script("location.hash = arguments[0]", tab)
            self.keep(f"two-{tab}")


class Compare(Report):
    """The tab Compare says what `assay compare --json` says."""

    def setUp(self):
        self.told = json.loads((PAGES / "two.json").read_text())

    def test_its_rows_have_the_figures_of_the_command(self):
        self.show("two", "compare")
        self.find("#differences option[value=all]").click()
        rows = {row[0]: row[1:] for row in self.compared()}
        self.assertEqual(len(rows), len(self.told["rows"]))
        for row in self.told["rows"]:
            shown = rows[row["scope"]]
            self.assertAlmostEqual(float(shown[0]), row["a_ms"], delta=6e-4)
            self.assertAlmostEqual(float(shown[1]), row["b_ms"], delta=6e-4)
            self.assertTrue(shown[7].startswith(browser.MARKS.get(
                row["mark"], row["mark"])), shown)
            if row["ratio"] and row["low"] * 100 > row["high"]:
                for shown_end, key in zip(shown[4].strip("[]").split(", "),
                                          ("low", "high")):
                    self.assertAlmostEqual(float(shown_end),
                                           100 * (row[key] - 1), delta=0.51)

    def test_the_largest_change_is_first_and_the_gate_speaks(self):
        self.show("two", "compare", 1400)
        text = self.find("#view-compare").text
        self.assertIn(self.told["gate"]["text"], text)
        self.assertIn(self.told["verdict"][1:], text)
        self.assertIn("Gate failed", text)
        self.assertEqual(self.compared()[0][0], self.told["rows"][0]["scope"])
        effects = [abs(float(row[7].strip("+\u00b1\u00a0%").replace(
            "\u2212", "-"))) for row in self.compared() if row[7] != "\u2013"]
        self.assertEqual(effects, sorted(effects, reverse=True))

    def test_a_row_is_the_selection_of_every_view(self):
        self.show("two", "compare")
        line = next(line for line in self.find_all("#view-compare tbody tr")
                    if "conv2" in line.text)
        line.click()
        self.assertEqual(self.find(".details h2").text, "conv2")
        self.show("two", "compare&sel=model.backbone.conv1")
        chosen = self.find("#view-compare tr[aria-selected=true]")
        self.assertIn("conv1", chosen.text)

    def test_without_a_budget_there_is_no_verdict_of_a_gate(self):
        self.show("two-no-gate", "compare")
        text = self.find("#view-compare").text
        self.assertNotIn("Gate", text)
        self.assertIn("--fail-above", text)

    def test_one_run_has_no_such_view(self):
        self.show("full")
        self.assertEqual(self.find_all("#tab-compare"), [])


if __name__ == "__main__":
    report_page.main()
