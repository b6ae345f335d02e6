#!/usr/bin/python3
"""The modules of a run: flame, table and graph.

    report_tree_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
from browser import ActionChains, By
import report_page
from report_page import Report
from selenium.webdriver.common.keys import Keys


class Tree(Report):
    def test_a_click_zooms_in_and_the_trail_leads_back(self):
        self.show("full")
        self.cell("roi_heads").click()
        self.assertEqual(self.names_in_tree(), {
            "pipeline", "model", "roi_heads", "box_roi_pool", "box_head"})
        self.assertEqual(self.find(".details h2").text, "roi_heads")
        self.keep("flame-zoomed")
        self.find(".trail button").click()
        self.assertIn("conv1", self.names_in_tree())

    def test_keys_walk_the_tree(self):
        self.show("full")
        self.cell("pipeline").click()
        self.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        self.assertEqual(self.find(".details h2").text, "backbone")
        self.press(Keys.ENTER)
        self.assertNotIn("roi_heads", self.names_in_tree())
        self.press(Keys.ESCAPE)
        self.assertIn("roi_heads", self.names_in_tree())

    def test_a_module_is_as_wide_as_its_time(self):
        self.show("full")
        whole = self.cell("pipeline").size["width"]
        conv = self.cell("conv2").size["width"]
        iteration = 10 + 0.002 * 1450 / 3
        self.assertAlmostEqual(conv / whole, 4 / iteration, delta=0.01)

    def test_a_deep_tree_can_be_walked_down(self):
        self.show("deep")
        self.find(".icicle .cell").click()
        for _ in range(60):
            self.press(Keys.ARROW_DOWN)
        self.press(Keys.ENTER)
        self.assertEqual(self.find(".details h2").text,
                         self.find(".trail span:last-child").text)
        deep = self.run_script("return state.selected.depth")
        self.assertGreater(deep, 40)
        self.assertLessEqual(len(self.find_all(".trail span")), 9)
        self.press(Keys.ESCAPE)
        self.assertEqual(self.run_script("return state.selected.depth"), deep)

    def test_search_dims_the_rest_and_goes_to_matches(self):
        self.show("full")
        self.press("/")
        self.press("conv")
        self.assertEqual(self.find("#found").text, "2 found")
        self.assertNotIn("dim", self.cell("conv1").get_attribute("class"))
        self.assertIn("dim", self.cell("relu").get_attribute("class"))
        self.press(Keys.ENTER, Keys.ENTER)
        self.assertEqual(self.find(".details h2").text, "conv2")
        self.press(Keys.ESCAPE)
        self.assertNotIn("dim", self.cell("relu").get_attribute("class"))

    def test_hovering_shows_the_figures(self):
        self.show("full")
        self.hover(self.cell("conv1"))
        for part in ("conv1", "Conv2d", "3.00 ms", "150"):  # GFLOP/s
            self.assertIn(part, self.tooltip().replace("\u00a0", " "))


class Flame(Report):
    def mode(self, label):
        for button in self.find_all("#view-flame .segments button"):
            if button.text == label:
                button.click()

    def test_the_device_has_a_flame_of_its_own_times(self):
        self.show("streams", "flame")
        self.mode("On the device")
        # Two kernels of 3 ms each; the operators took 2 ms each on the host.
        labels = [cell.get_attribute("aria-label").replace("\u00a0", " ")
                  for cell in self.find_all("#view-flame .cell")]
        self.assertIn("step, 12.0 ms", labels)
        self.assertIn("aten::conv2d, 6.00 ms", labels)
        self.keep("flame-device")
        self.show("full", "flame")
        modes = [button.text for button in
                 self.find_all("#view-flame .segments button")]
        self.assertNotIn("On the device", modes)

    def test_left_heavy_merges_siblings_of_a_class_and_sorts_them(self):
        self.show("full")
        self.mode("Left-heavy")
        cells = {cell.get_attribute("aria-label").split(",")[0]: cell
                 for cell in self.find_all("#view-flame .cell")}
        merged = cells["Conv2d \u00d72"]
        self.assertIn("7.00\u00a0ms", merged.get_attribute("aria-label"))
        self.assertLess(merged.location["x"], cells["relu"].location["x"])
        self.keep("flame-heavy")

    def test_the_sandwich_shows_callers_and_calls_of_a_class(self):
        self.show("full")
        self.run_script("select(state.report.nodes.find("
                        "node => node.name === 'conv1'))")
        self.mode("Sandwich")
        up = [cell.get_attribute("aria-label").split(",")[0] for cell in
              self.find_all(".icicle.up .cell")]
        self.assertEqual(up, ["Conv2d \u00d72", "backbone", "model",
                              "pipeline"])
        self.keep("flame-sandwich")

    def test_the_address_remembers_mode_zoom_and_selection(self):
        self.show("full")
        self.cell("roi_heads").click()
        self.run_script("writeAddress()")
        self.browser.refresh()
        self.assertNotIn("conv1", self.names_in_tree())
        self.assertEqual(self.find(".details h2").text, "roi_heads")


class Table(Report):
    def test_a_column_sorts_both_ways(self):
        self.show("full", "table")
        for _ in range(2):
            self.sort_by("self ms")
        down = [float(text) for text in self.column("self ms")]
        self.assertEqual(down[0], 0)
        self.assertEqual(down, sorted(down))
        self.sort_by("self ms")
        self.assertEqual([float(text) for text in self.column("self ms")],
                         down[::-1])
        sort = self.find("#view-table th[aria-sort]")
        self.assertEqual(sort.get_attribute("aria-sort"), "descending")

    def test_the_search_filters_it(self):
        self.show("full", "table")
        self.find("#query").send_keys("backbone.conv")
        self.assertEqual(len(self.column("module")), 2)

    def test_classes_add_up_their_modules(self):
        self.show("full", "table")
        self.find("#rows option[value=classes]").click()
        named = dict(zip(self.column("class"), self.column("self ms")))
        self.assertAlmostEqual(float(named["Conv2d"]), 7, delta=1e-3)

    def test_keys_walk_the_rows_and_enter_selects_one(self):
        self.show("full", "table")
        self.find("#view-table tbody tr").click()
        self.press(Keys.ARROW_DOWN, Keys.ENTER)
        chosen = self.find("#view-table tr[aria-selected=true]")
        self.assertIn(self.column("module")[1], chosen.text)
        self.assertEqual(self.find(".details h2").text, "model")
        self.find(".elsewhere button").click()
        self.assertEqual(self.find(
            "#view-flame .cell[aria-selected=true]").text.split()[-1], "model")

    def test_only_some_of_many_rows_are_shown_at_first(self):
        self.show("busy", "table")
        self.assertEqual(len(self.column("module")), 200)
        self.find("#view-table .more-rows").click()
        self.assertEqual(len(self.column("module")), 2000)


class Graph(Report):
    """The detector of made_photographs(): decode before a model in which conv1
    leads to conv2, and conv2 to relu and to the roi_heads."""

    def box(self, name):
        for box in self.find_all("svg.graph g.box, svg.graph g.frame"):
            label = box.get_attribute("aria-label")
            if label.split(",")[0].split(".")[-1] == name:
                return box
        return None

    def place(self, name):
        return self.run_script(
            "const at = arguments[0].firstChild.getBoundingClientRect();"
            "return {x: at.x, y: at.y, r: at.right, b: at.bottom}",
            self.box(name))

    def test_what_flows_leads_downwards_with_its_shape(self):
        self.show("graph", "graph")
        self.assertLess(self.place("conv1")["b"], self.place("conv2")["y"])
        self.assertLess(self.place("conv2")["b"],
                        self.place("box_head")["y"])
        text = self.find("svg.graph").text
        for part in ("1x64x56x56", "input", "output"):
            self.assertIn(part, text)
        self.keep("graph")

    def test_boxes_do_not_overlap(self):
        self.show("graph", "graph")
        names = ("conv1", "conv2", "relu", "box_roi_pool", "box_head")
        places = [self.place(name) for name in names]
        for i, a in enumerate(places):
            for b in places[:i]:
                self.assertTrue(a["r"] <= b["x"] or b["r"] <= a["x"] or
                                a["b"] <= b["y"] or b["b"] <= a["y"])

    def test_modules_close_and_open(self):
        self.show("graph", "graph")
        ActionChains(self.browser, duration=0).double_click(
            self.box("backbone").find_element(
                By.CSS_SELECTOR, "text")).perform()
        self.assertIsNone(self.box("conv1"))
        self.assertEqual(
            self.box("backbone").get_attribute("aria-expanded"), "false")
        self.press(Keys.ENTER)
        self.assertIsNotNone(self.box("conv1"))

    def test_a_click_selects_and_keys_walk(self):
        self.show("graph", "graph")
        self.box("conv1").click()
        self.assertEqual(self.find(".details h2").text, "conv1")
        self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.find(".details h2").text, "conv2")

    def test_a_module_selected_elsewhere_is_opened_and_marked(self):
        self.show("graph", "graph")
        for button in self.find_all("#view-graph button"):
            if button.text == "Close all":
                button.click()
        self.assertIsNone(self.box("conv2"))
        self.run_script("location.hash = 'table'")
        self.run_script("select(state.report.nodes.find("
                        "node => node.name === 'conv2'))")
        self.run_script("location.hash = 'graph&sel=model.backbone.conv2'")
        self.assertIn("chosen", self.box("conv2").get_attribute("class"))

    def test_colours_show_kind_time_and_bytes(self):
        self.show("graph", "graph")
        seen = set()
        for option in self.find_all("#view-graph option"):
            option.click()
            seen.add(self.run_script(
                "return getComputedStyle(arguments[0].firstChild).fill",
                self.box("conv2")))
        self.assertGreaterEqual(len(seen), 3)

    def test_without_edges_it_says_so(self):
        self.show("full", "graph")
        self.assertIn("does not say how modules are connected",
                      self.find("#view-graph").text)


if __name__ == "__main__":
    report_page.main()
