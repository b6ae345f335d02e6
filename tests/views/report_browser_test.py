#!/usr/bin/python3
"""The HTML report in a browser: Debian's Chromium, without a window.

    report_browser_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
import json
import pathlib
import sys
import unittest

import browser
from browser import ActionChains, By
from selenium.webdriver.common.keys import Keys

PAGES = pathlib.Path(sys.argv[1]).resolve()
SCREENSHOTS = pathlib.Path(sys.argv[2])
TABS = ("overview", "flame", "table", "timeline", "graph", "memory", "roofline", "latency",
        "pictures", "machine")


def setUpModule():
    browser.start(SCREENSHOTS)


def tearDownModule():
    browser.stop()


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


class Timeline(Report):
    def test_hovering_shows_what_ran_when(self):
        self.show("full", "timeline")
        canvas = self.find(".timeline canvas")
        self.hover(canvas, 0, 42 + 9 - canvas.size["height"] // 2)
        self.assertIn("pipeline", self.tooltip())

    def test_keys_zoom_and_pick_slices(self):
        self.show("full", "timeline")
        self.run_script("document.querySelector('.timeline canvas').focus()")
        before = self.pixels()
        self.press(".", Keys.ARROW_DOWN, ".")
        self.assertIn("model", self.find(".said").text)
        self.press(Keys.ENTER)
        self.assertNotEqual(self.pixels(), before)
        self.keep("timeline-zoomed")

    def test_every_kept_iteration_can_be_chosen(self):
        self.show("full", "timeline")
        self.assertEqual(len(self.find_all("#view-timeline option")), 2)
        self.find("#view-timeline option:last-child").click()
        self.assertGreater(self.pixels(), 4)

    def test_20000_slices_are_drawn_and_move(self):
        self.show("busy", "timeline")
        self.keep("timeline-busy")
        self.assertGreater(self.pixels(), 3)
        self.run_script("document.querySelector('.timeline canvas').focus()")
        self.press("+", "+", "+", "+", Keys.ARROW_RIGHT, "0")
        took = self.run_script("""
            const timing = performance.getEntriesByType("navigation")[0];
            return timing.loadEventEnd - timing.responseEnd;""")
        print(f"the page of 20000 slices was ready in {took:.0f} ms")


class Streams(Report):
    """Work on a device: launches, areas, counters."""

    def timeline(self, script):
        """Evaluates an expression of the timeline's scene."""
        return self.run_script(f"""
            const scene = pageViews.find(view => view.key === "timeline").scene;
            return {script};""")

    def press_on_canvas(self, *keys):
        self.run_script("document.querySelector('.timeline canvas').focus()")
        self.press(*keys)

    def drag(self, start, end, shift=True):
        """Drags over the timeline, from and to parts of its width."""
        canvas = self.find(".timeline canvas")
        wide, high = canvas.size["width"], canvas.size["height"]
        chain = ActionChains(self.browser, duration=0)
        if shift:
            chain.key_down(Keys.SHIFT)
        chain.move_to_element_with_offset(
            canvas, int(wide * (start - 0.5)), 30 - high // 2)
        chain.click_and_hold()
        chain.move_to_element_with_offset(
            canvas, int(wide * (end - 0.5)), high // 2 - 4)
        chain.release()
        if shift:
            chain.key_up(Keys.SHIFT)
        chain.perform()

    def area_rows(self):
        return {row.text.split()[0]: row.text.split()[1] for row in
                self.find_all(".area table[aria-label='By class'] tbody tr")}

    def test_tracks_of_host_and_device_are_shown_with_the_counter(self):
        self.show("streams", "timeline")
        self.assertEqual(
            self.timeline("scene.tracks.map(track => track.kind)"),
            ["cpu", "device"])
        self.assertEqual(
            self.timeline("scene.counters.map(counter => counter.name)"),
            ["queued kernels"])
        self.keep("streams")

    def test_launches_lead_from_the_operator_to_its_kernel(self):
        self.show("streams", "timeline")
        pairs = self.timeline("""scene.launches.map(launch => {
            const host = scene.hostOf(launch);
            const lane = host.track.lanes[host.lane];
            return [host.track.nodeOf[lane.rows[host.i]].name,
                    launch.track.nodeOf[launch.track.lanes[launch.lane]
                        .rows[launch.i]].name, launch.at];
        })""")
        self.assertEqual(pairs, [["aten::conv2d", "convolve", 1],
                                 ["aten::mm", "sgemm", 5],
                                 ["aten::conv2d", "convolve", 9],
                                 ["aten::mm", "sgemm", 13]])

    def test_what_is_visible_is_added_up_by_class_and_module(self):
        self.show("streams", "timeline")
        self.press_on_canvas("m")
        rows = self.area_rows()
        self.assertAlmostEqual(float(rows["sgemm"]), 6, delta=0.01)
        self.assertAlmostEqual(float(rows["aten::conv2d"]), 4, delta=0.01)
        self.assertAlmostEqual(float(rows["Pipeline"]), 12, delta=0.01)
        self.assertIn("32.0 ms of work in 9 slices",
                      self.find(".area").text.replace("\u00a0", " "))
        self.keep("streams-area")
        self.press_on_canvas(Keys.ESCAPE)
        self.assertFalse(self.find(".area").is_displayed())

    def test_an_area_counts_only_the_part_inside_it(self):
        self.show("streams", "timeline")
        self.drag(0.505, 1)  # from 10.1 ms on
        rows = self.area_rows()
        self.assertAlmostEqual(float(rows["sgemm"]), 0.9 + 3, delta=0.05)
        self.assertAlmostEqual(float(rows["aten::mm"]), 2, delta=0.05)
        self.assertNotIn("aten::conv2d", rows)

    def test_dragging_moves_and_the_address_remembers_where(self):
        self.show("streams", "timeline")
        self.press_on_canvas("w", "w")
        before = self.timeline("scene.seen.from")
        self.drag(0.6, 0.4, shift=False)
        self.assertGreater(self.timeline("scene.seen.from"), before)
        seen = self.timeline("scene.seen")
        self.run_script("writeAddress()")
        self.browser.refresh()
        again = self.timeline("scene.seen")
        self.assertAlmostEqual(again["from"], seen["from"], delta=1e-3)
        self.assertAlmostEqual(again["to"], seen["to"], delta=1e-3)

    def test_a_track_closes_and_opens(self):
        self.show("streams", "timeline")
        canvas = self.find(".timeline canvas")
        for is_closed in (True, False):
            ActionChains(self.browser, duration=0).move_to_element_with_offset(
                canvas, 20 - canvas.size["width"] // 2,
                33 - canvas.size["height"] // 2).click().perform()
            self.assertEqual(
                self.timeline("Boolean(scene.tracks[0].isClosed)"), is_closed)

    def test_the_search_goes_from_slice_to_slice(self):
        self.show("streams", "timeline")
        self.find("#query").send_keys("sgemm")
        self.press(Keys.ENTER)
        first = self.timeline("scene.picked.lane.start[scene.picked.i]")
        self.press(Keys.ENTER)
        self.assertNotEqual(
            self.timeline("scene.picked.lane.start[scene.picked.i]"), first)

    def test_200000_slices_are_drawn_frame_by_frame(self):
        self.show("many", "timeline")
        took = self.run_script("""
            const scene = pageViews.find(view => view.key === "timeline").scene;
            const pen = document.querySelector(".timeline canvas")
                .getContext("2d");
            const times = [];
            for (let i = 0; i < 40; i++) {
                const span = scene.length * 0.8 ** i;
                scene.seen.from = scene.length * 0.3;
                scene.seen.to = scene.seen.from + span;
                const began = performance.now();
                paintScene(pen, scene);
                times.push(performance.now() - began);
            }
            times.sort((a, b) => a - b);
            return [times[20], times[39]];""")
        ready = self.run_script("""
            const timing = performance.getEntriesByType("navigation")[0];
            return timing.loadEventEnd - timing.responseEnd;""")
        print(f"200000 slices: ready in {ready:.0f} ms, a frame takes "
              f"{took[0]:.1f} ms, at most {took[1]:.1f} ms")
        self.assertEqual(self.timeline(
            "scene.tracks.reduce((n, t) => "
            "n + t.lanes.reduce((m, lane) => m + lane.n, 0), 0)"), 200000)
        self.keep("many")


class Flame(Report):
    def mode(self, label):
        for button in self.find_all("#view-flame .segments button"):
            if button.text == label:
                button.click()

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


class Charts(Report):
    def test_the_owners_of_the_peak_are_shown(self):
        self.show("full", "memory")
        self.find("#peak-0").click()
        text = self.find(".ledger").text
        for part in ("model.backbone.conv1", "25.0 MiB", "as loaded",
                     "Together 100 MiB", "130 MiB"):
            self.assertIn(part, text.replace("\u00a0", " "))
        self.keep("memory")

    def test_memory_is_stacked_by_category_and_names_the_module(self):
        self.show("graph", "memory")
        self.assertEqual(len(self.find_all("#view-memory .stacked")), 3)
        legend = self.find("#view-memory .legend").text
        for part in ("weights", "activations", "rounded up by the pool"):
            self.assertIn(part, legend)
        chart = self.find("#view-memory svg")
        self.hover(chart)
        for part in ("weights", "30.0", "activations", "in"):
            self.assertIn(part, self.tooltip())
        chart.click()
        self.assertNotEqual(self.find(".details h2").text, "pipeline")
        self.keep("memory-categories")

    def test_no_two_labels_of_an_axis_touch_or_repeat(self):
        for page, tab in (("full", "latency"), ("full", "memory"),
                          ("full", "roofline"), ("training", "training")):
            for width in (1400, 400):
                self.show(page, tab, width=width, height=800)
                rows = self.run_script("""
                    return [...document.querySelectorAll(
                        `#view-${arguments[0]} svg.chart`)].map(chart =>
                        [...chart.querySelectorAll("text[text-anchor=middle]")]
                        .map(text => {
                            const at = text.getBoundingClientRect();
                            return [at.left, at.right, text.textContent];
                        }));""", tab)
                self.assertGreater(len(rows), 0)
                for labels in rows:
                    for before, after in zip(labels, labels[1:]):
                        self.assertLess(before[1], after[0], labels)
                    texts = [label[2] for label in labels]
                    self.assertEqual(len(set(texts)), len(texts))

    def test_the_roofline_has_roof_and_modules(self):
        self.show("full", "roofline")
        self.assertIn("peak 200 GFLOP/s", self.find("#view-roofline").text)
        self.assertIn("20.0 GB/s", self.find("#view-roofline").text)
        points = self.find_all("#view-roofline .point")
        self.assertEqual(len(points), 4)
        self.hover(points[0])
        self.assertIn("conv2", self.tooltip())  # the longest is the first
        self.keep("roofline")

    def test_the_histogram_counts_every_iteration(self):
        self.show("full", "latency")
        n = 0
        for column in self.find_all("#view-latency .column"):
            self.hover(column)
            n += int(self.tooltip().split("iterations")[1])
        self.assertEqual(n, 30)

    def test_time_is_plotted_against_proposals_by_photograph(self):
        self.show("full", "latency")
        self.assertEqual(
            [option.text for option in self.find_all("#view-latency option")],
            ["proposals", "detections"])
        points = self.find_all("#view-latency .block .block .point")
        self.assertEqual(len(points), 30)
        self.hover(points[0])
        for part in ("dog.jpg", "10.8", "400"):
            self.assertIn(part, self.tooltip())
        rows = self.find("#view-latency table").text.split("\n")
        self.assertTrue(rows[1].startswith("street.jpg 12.000 10 1000 11"),
                        rows[1])
        self.keep("latency")

    def test_pictures_are_shown(self):
        self.show("pictures", "pictures")
        self.assertEqual(self.run_script(
            "return document.querySelector('img').naturalWidth"), 1)
        self.assertEqual(self.find("figcaption").text,
                         "<b>dog</b>_targets.jpg")


class Training(Report):
    def test_the_head_shows_the_parts_of_a_step(self):
        self.show("training", "overview")
        text = self.find("#view-overview").text.replace("\u00a0", " ")
        for part in ("mean step", "10.0 images/s", "8 steps",
                     "data 20.0 ms (stall 10 %)", "forward 56.0 ms",
                     "loss 5.00 ms", "backward 100 ms", "optimizer 15.0 ms",
                     "other 4.00 ms"):
            self.assertIn(part, text)

    def test_the_loss_is_drawn_over_the_steps(self):
        self.show("training", "training")
        points = self.find_all("#view-training .point")
        self.assertEqual(len(points), 11)  # 3 of them warm-up
        heights = [float(point.get_attribute("cy")) for point in points]
        self.assertEqual(heights, sorted(heights))  # it falls
        self.assertEqual(points[0].get_attribute("aria-label"),
                         "step 1, loss 5.50")
        self.assertEqual(points[10].get_attribute("aria-label"),
                         "step 11, loss 0.500")
        self.hover(points[2])
        for part in ("step 3", "not measured, warm-up", "loss4.5"):
            self.assertIn(part, self.tooltip())
        self.hover(points[3])
        for part in ("step 4", "200", "loss4", "wait20"):
            self.assertIn(part, self.tooltip())
        self.keep("training")

    def test_time_is_not_plotted_against_photographs(self):
        self.show("training", "latency")
        self.assertNotIn("By photograph", self.find("#view-latency").text)

    def test_the_configuration_is_shown_by_section(self):
        self.show("training", "machine")
        heads = [head.text for head in self.find_all("#view-machine h2")]
        self.assertIn("[training]", heads)
        self.assertIn("loader", heads)

    def test_other_runs_have_no_such_view(self):
        self.show("full")
        self.assertEqual(self.find_all("#tab-training"), [])


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
        self.assertIn(self.told["verdict"], text)
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


class Roofline(Report):
    def test_labels_do_not_overlap(self):
        for page in ("full", "two", "caches"):
            for width in (1400, 700, 400):
                self.show(page, "roofline", width, 800, phone=width < 600)
                self.assertEqual(self.crossing_labels("#view-roofline"), [],
                                 f"{page} {width}")
            self.keep(f"roofline-{page}")

    def test_a_slope_is_labelled_where_there_is_room(self):
        self.show("caches", "roofline", 1400)
        shown = [text.text for text in self.find_all("#view-roofline .slope")]
        self.assertEqual(len(shown), 4, shown)
        self.assertEqual(len(set(shown)), 4)


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
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
