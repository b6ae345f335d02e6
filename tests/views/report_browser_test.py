#!/usr/bin/python3
"""The page as a whole: its head, its panes, its keys, its colours, any run.

    report_browser_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
import json

import report_page
from report_page import PAGES, Report, TABS
from selenium.webdriver.common.keys import Keys


class Figures(Report):
    """The numbers of the run file are on the page."""

    def setUp(self):
        self.run_file = json.loads((PAGES / "full.json").read_text())

    def test_the_head_has_latency_memory_and_work(self):
        self.show("full", "overview")
        text = self.find("#head").text + self.find("#view-overview").text
        latency = self.run_file["latency"]
        self.assertIn("small_detector", text)
        self.assertIn(f"{latency['mean_ms']:.1f} ms", text)
        self.assertIn(f"{latency['p95_ms']:.1f} ms", text)
        self.assertIn("100 MiB", text)
        self.assertIn("30 iterations", text)

    def test_the_head_names_what_computed(self):
        self.show("full", "overview")
        self.assertIn("Test CPU · 2 threads", self.find("#head").text)
        self.show("streams", "overview")
        self.assertIn("Test GPU", self.find("#head").text)
        self.assertNotIn("threads", self.find("#head").text)

    def test_the_time_of_a_device_comes_before_that_of_the_host(self):
        self.show("streams", "overview")
        heads = [head.text for head in self.find_all("#view-overview .card h2")]
        device = heads.index("Longest modules on the device")
        self.assertLess(device, heads.index("Longest modules on the host"))
        self.assertIn("6.00", self.find_all("#view-overview .card")[device].text)
        text = self.find("#view-overview").text
        self.assertIn("device: kernels", text)
        waits = self.run_script("""
            return Object.values(state.report.main.device.idle_for)
                .filter(ms => ms > 0).length;""")
        self.assertEqual(text.count("idle for"), waits)

    def test_findings_are_shown_with_what_would_help(self):
        self.show("full", "overview")
        told = [item.text for item in self.find_all(".findings li")]
        findings = self.run_file["findings"]
        self.assertEqual(len(told), len(findings))
        self.assertGreater(len(findings), 0)
        for text, finding in zip(told, findings):
            self.assertIn(finding["text"], text)
            self.assertIn(finding["help"] or "", text)

    def test_the_table_has_every_module_with_its_times(self):
        self.show("full", "table")
        self.sort_by("module")
        rows = sorted(self.run_file["tree"], key=lambda row: row["path"])
        self.assertEqual(len(self.column("total ms")), len(rows))
        for label, key in (("total ms", "total_ms"), ("self ms", "self_ms"),
                           ("p95 ms", "p95_ms")):
            shown = [float(text) for text in self.column(label)]
            for got, row in zip(shown, rows):
                self.assertAlmostEqual(got, row[key], delta=6e-4)

    def test_the_machine_and_the_settings_are_shown(self):
        self.show("full", "machine")
        text = self.find("#view-machine").text
        for part in ("Test CPU", "small_detector", "130 MiB"):
            self.assertIn(part, text)


class Shell(Report):
    def test_the_head_leaves_the_window_to_the_view(self):
        for width, height, most in ((1400, 900, 90), (400, 800, 150)):
            self.show("full", "timeline", width=width, height=height)
            top = self.run_script(
                "return document.getElementById('views')"
                ".getBoundingClientRect().top")
            self.assertLess(top, most)
            self.assertLessEqual(self.run_script(
                "return document.documentElement.scrollHeight"), height)

    def test_the_pane_of_the_selected_module_resizes_and_closes(self):
        self.show("full")
        before = self.find("#side").size["width"]
        self.run_script("document.getElementById('edge').focus()")
        self.press(Keys.ARROW_LEFT)
        self.assertGreater(self.find("#side").size["width"], before)
        self.press("i")
        self.assertFalse(self.find("#side").is_displayed())
        self.press("i")
        self.assertTrue(self.find("#side").is_displayed())

    def test_keys_open_views_and_the_list_of_keys(self):
        self.show("full")
        self.press("4")
        self.assertTrue(self.find("#view-timeline").is_displayed())
        self.press("?")
        self.assertIn("add up an area", self.find("dialog").text)
        self.press(Keys.ESCAPE)
        self.assertFalse(self.find("dialog").is_displayed())

    def test_a_selection_is_marked_in_every_view(self):
        self.show("full")
        self.cell("relu").click()
        self.press("3")
        self.assertIn("relu", self.find(
            "#view-table tr[aria-selected=true]").text)
        self.press("4")
        self.assertIn("relu", self.find(".said").text)

    def test_text_has_enough_contrast_in_both_themes(self):
        pairs = """
            const rgb = name => {
                const pen = document.createElement("canvas").getContext("2d");
                pen.fillStyle = colours.get(name);
                pen.fillRect(0, 0, 1, 1);
                return Array.from(pen.getImageData(0, 0, 1, 1).data.slice(0, 3));
            };
            const light = name => {
                const [r, g, b] = rgb(name).map(value => {
                    const part = value / 255;
                    return part <= 0.04045 ? part / 12.92
                                           : ((part + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const fills = Array.from(document.styleSheets[0].cssRules)
                .map(rule => rule.selectorText || "")
                .filter(text => /^[.]fill-/.test(text))
                .map(text => ["on-fill", text.slice(1)]);
            return [["ink", "ground"], ["soft", "ground"], ["soft", "panel"],
                    ["soft", "wash"], ["accent", "panel"],
                    ["on-accent", "accent"], ...fills].map(([a, b]) => {
                const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
                return [a, b, (high + 0.05) / (low + 0.05)];
            });"""
        for dark in (False, True):
            self.show("full", dark=dark)
            found = self.run_script(pairs)
            self.assertGreater(len(found), 30)
            for text, ground, contrast in found:
                self.assertGreaterEqual(contrast, 4.5, (text, ground, dark))


class Any(Report):
    def test_every_view_opens_on_every_page(self):
        for page in ("full", "busy", "hostile", "bare", "deep", "two",
                     "streams", "graph"):
            for tab in TABS:
                self.show(page, tab)
                view = self.find(f"#view-{tab}")
                self.assertTrue(view.is_displayed())
                self.assertGreater(view.size["height"], 20)

    def test_screenshots_of_every_view_are_kept(self):
        views = [("graph", tab) for tab in TABS]
        views += [("streams", "timeline"), ("training", "training"),
                  ("two", "overview"), ("two", "compare"), ("two", "flame"), ("two", "table")]
        for page, tab in views:
            for width, height in ((1400, 900), (400, 800)):
                for dark in (False, True):
                    self.show(page, tab, width, height, dark, width < 600)
                    self.keep(f"{page}-{tab}-{width}"
                              f"{'-dark' if dark else ''}")
                    self.assertLessEqual(self.run_script(
                        "return document.documentElement.scrollWidth"), width)

    def test_missing_data_is_explained_in_its_place(self):
        self.show("bare")
        self.assertEqual(self.names_in_tree() & {"producer", "filter"},
                         {"producer", "filter"})
        for tab, words in (("timeline", "no timeline"),
                           ("memory", "how much memory was live"),
                           ("roofline", "how many operations"),
                           ("latency", "No iterations are marked"),
                           ("machine", "which machine it ran on"),
                           ("pictures", "No pictures")):
            self.run_script("location.hash = arguments[0]", tab)
            self.assertIn(words, self.find(f"#view-{tab} .missing").text)

    def test_hostile_names_are_text(self):
        names = [row["name"] for row in
                 json.loads((PAGES / "hostile.json").read_text())["tree"]]
        for tab in TABS:
            self.show("hostile", tab)
            self.assertEqual(self.find_all("img"), [])
            self.assertEqual(len(self.find_all("script")), 2)
            self.assertNotEqual(self.browser.title, "broken in")
        self.keep("hostile")
        self.show("hostile", "table")
        shown = " ".join(self.column("module"))
        for name in names:
            self.assertIn(" ".join(name.split()) if len(name) < 60 else "LLLL",
                          " ".join(shown.split()))
        self.show("hostile")
        self.run_script("select(state.report.nodes[1])")
        self.assertEqual(self.find(".details h2").text, "L" * 10000)

    def test_long_names_are_cut_between_letters(self):
        self.show("full")
        for letter in ("L", "\U0001d54c"):
            for n in (5, 59, 60, 61, 100, 3000):
                cut = self.run_script("return shorten(arguments[0], 60)",
                                      letter * n)
                self.assertEqual(
                    cut, letter * n if n <= 60 else
                    letter * 29 + "\u2026" + letter * 29)

    def test_the_page_requests_nothing(self):
        self.show("full")
        self.assertEqual(self.run_script(
            "return performance.getEntriesByType('resource').length"), 0)

    def test_colours_follow_the_system_and_the_switch(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.show("full", dark=True)
        dark = self.run_script(ground)
        self.keep("flame-dark")
        self.find(".theme").click()
        light = self.run_script(ground)
        self.assertNotEqual(dark, light)
        self.show("full")
        self.assertEqual(self.run_script(ground), light)
        self.keep("flame")

    def test_a_phone_scrolls_in_one_direction_only(self):
        for tab in TABS:
            self.show("full", tab, width=390, height=844, phone=True)
            self.assertLessEqual(self.run_script(
                "return document.documentElement.scrollWidth"), 390, tab)
            self.keep(f"phone-{tab}")

    def test_on_paper_every_view_is_shown(self):
        self.show("full", dark=True)
        self.run_script("dispatchEvent(new Event('beforeprint'))")
        self.show_paper()
        for tab in TABS:
            self.assertTrue(self.find(f"#view-{tab}").is_displayed(), tab)
        self.assertFalse(self.find("#bar").is_displayed())
        self.assertEqual(self.run_script(
            "return document.documentElement.dataset.theme"), "light")
        self.keep("paper")
        self.run_script("dispatchEvent(new Event('afterprint'))")

    def show_paper(self):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"media": "print"})
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 720, "height": 3000, "deviceScaleFactor": 1,
             "mobile": False})

    def test_the_tab_key_reaches_every_control(self):
        self.show("full")
        reached = []
        for _ in range(16):
            self.press(Keys.TAB)
            reached.append(self.run_script(
                "const at = document.activeElement;"
                "return at.id || at.className || at.tagName"))
        for control in ("skip", "plain theme", "tab-flame", "query"):
            self.assertIn(control, reached)
        self.assertTrue(any("cell" in name for name in reached), reached)


if __name__ == "__main__":
    report_page.main()
