#!/usr/bin/python3
"""The report of real runs in a browser, and of one that is being recorded.

    report_runs_test.py ASSAY SOURCE SCREENSHOTS

Exits with 77 and the reason if the browser, its driver or Selenium is missing.
"""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import browser

ASSAY = str(pathlib.Path(sys.argv[1]).resolve())
SOURCE = pathlib.Path(sys.argv[2]).resolve()
SCREENSHOTS = pathlib.Path(sys.argv[3])


def setUpModule():
    browser.start(SCREENSHOTS)


def tearDownModule():
    browser.stop()


def assay(folder, *words):
    done = subprocess.run([ASSAY, *map(str, words)], cwd=folder, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"assay {words}: {done.stderr}")
    return done.stdout


def make_run(path, n_iterations, n_layers=60, unit=100):
    """As another profiler would have traced it: the i-th layer takes i times
    100 us, or another unit."""
    events, start = [], 0
    for i in range(n_iterations):
        at = start + 10
        for k in range(n_layers):
            events.append({"ph": "X", "name": f"layer{k}", "pid": 1, "tid": 1,
                           "ts": at, "dur": unit * (k + 1)})
            at += unit * (k + 1)
        events.append({"ph": "X", "name": f"ProfilerStep#{i}", "pid": 1,
                       "tid": 1, "ts": start, "dur": at - start + 10})
        start = at + 1000
    trace = path.parent / "trace.json"
    trace.write_text(json.dumps(events))
    assay(path.parent, "import", trace, "-o", path)
    trace.unlink()


def served(test, folder):
    """The address of a server that ends with the test."""
    server = subprocess.Popen([ASSAY, "serve", str(folder), "--port", "0"],
                              stdout=subprocess.PIPE, text=True)

    def stop():
        server.send_signal(signal.SIGINT)
        server.wait(30)
        server.stdout.close()

    test.addCleanup(stop)
    server.stdout.readline()
    return server.stdout.readline().split()[-1]


class Live(browser.Page):
    """A run that is being recorded changes where the reader is."""

    def setUp(self):
        self.outside = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.outside)
        folder = self.outside / "runs"
        folder.mkdir()
        self.part = folder / "live.assay.12-abcdef.part"
        self.record(8)
        self.address = served(self, folder)

    def record(self, n_iterations):
        """The file has grown to so many iterations."""
        make_run(self.outside / "whole.assay", n_iterations)
        (self.outside / "whole.assay").rename(self.part)

    def show(self, tab):
        self.open(f"{self.address}run?name={self.part.name}#{tab}",
                  width=1280, height=600)
        self.run_script("window.isSamePage = true")

    def wait_for(self, script):
        end = time.monotonic() + 60
        while not self.run_script("return " + script):
            self.assertLess(time.monotonic(), end, script)
            time.sleep(0.1)
        self.assertTrue(self.run_script("return window.isSamePage"),
                        "the page was loaded again")

    def iterations(self):
        return self.run_script("return state.report.main.runs.measured")

    def test_tab_selection_order_and_scroll_stay(self):
        self.show("table")
        self.sort_by("module")
        self.run_script("select(nodeByPath('layer41'))")
        self.run_script(
            "document.querySelector('#view-table .scroll').scrollTop = 333")
        order = self.column("module")
        self.assertEqual(self.iterations(), 8)
        self.record(14)
        self.wait_for("live.updates > 0")
        self.assertEqual(self.iterations(), 14)
        self.assertEqual(self.column("module"), order)
        self.assertEqual(self.find(".details h2").text, "layer41")
        self.assertEqual(self.find(
            "#view-table tr[aria-selected=true]").text.split()[0], "layer41")
        self.assertEqual(self.run_script(
            "return document.querySelector('#view-table .scroll').scrollTop"),
            333)
        self.assertEqual(len(self.find_all(".live")), 1)

    def test_zoom_stays_and_the_end_is_noticed(self):
        self.show("flame")
        self.run_script("select(nodeByPath('layer41'))")
        self.go("timeline&sel=layer41")
        seen = self.run_script("""
            const canvas = document.querySelector(".timeline canvas");
            canvas.focus();
            for (const key of ["+", "+", "ArrowRight"])
                canvas.dispatchEvent(new KeyboardEvent("keydown", {key}));
            return {...pageViews.find(each => each.key === "timeline")
                .scene.seen};""")
        self.assertLess(seen["to"] - seen["from"], 150)
        self.record(14)
        self.wait_for("live.updates > 0")
        now = self.run_script("""
            return {...pageViews.find(each => each.key === "timeline")
                .scene.seen};""")
        for key in ("from", "to"):
            self.assertAlmostEqual(now[key], seen[key], delta=1e-3)
        self.assertEqual(self.run_script(
            "return document.activeElement.tagName"), "CANVAS")
        self.record(20)
        self.part.rename(self.part.parent / "live.assay")
        self.wait_for("!live.isOn")
        self.assertEqual(self.iterations(), 20)
        self.assertEqual(self.find_all(".live"), [])
        self.keep("live-timeline")

    def test_a_server_that_ends_leaves_the_page(self):
        self.show("table")
        self.run_script("window.fetch = () => Promise.reject(new Error())")
        self.wait_for("!live.isOn")
        self.assertEqual(self.find_all(".live"), [])
        self.assertGreater(len(self.column("module")), 60)


class Trend(browser.Page):
    """The runs of a folder, each judged as `assay compare` judges it."""

    UNITS = {"a.assay": 100, "b.assay": 100, "c.assay": 130, "d.assay": 110}

    @classmethod
    def setUpClass(cls):
        cls.outside = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.outside)
        cls.folder = cls.outside / "runs"
        cls.folder.mkdir()
        for name, unit in cls.UNITS.items():
            make_run(cls.folder / name, 12, 8, unit)
        (cls.folder / "notes.txt").write_text("not a run")

    def gate(self, before, after):
        told = subprocess.run(
            [ASSAY, "compare", before, after, "--fail-above", "5%", "--json"],
            cwd=self.folder, check=False, capture_output=True, text=True)
        return json.loads(told.stdout)["gate"]

    def show(self, *how, width=1400, height=900, dark=False):
        assay(self.outside, "report", "runs", "-o", "trend.html", *how)
        self.open((self.outside / "trend.html").as_uri() + "#trend", width,
                  height, dark, width < 600)

    def verdicts(self):
        """The gate's words by run, as the table has them."""
        return self.run_script("""
            return Object.fromEntries(
                [...document.querySelectorAll("#view-trend tbody tr")]
                    .map(row => [row.row.name, row.cells[row.cells.length - 1]
                        .textContent.trim()]));""")

    def check_verdicts(self, pairs):
        shown = self.verdicts()
        self.assertEqual(set(shown), set(self.UNITS))
        for before, after in pairs:
            gate = self.gate(before, after)
            rest = gate["text"][gate["text"].index(":"):]
            word = {"noisy": "undecided"}.get(gate["result"], gate["result"])
            self.assertEqual(shown[after], word + rest)

    def test_each_run_is_judged_against_the_one_before(self):
        self.show()
        self.check_verdicts((("a.assay", "b.assay"), ("b.assay", "c.assay"),
                             ("c.assay", "d.assay")))
        self.assertEqual(self.verdicts()["a.assay"], "\u2013")
        self.assertIn("2 passed, 1 failed, 0 undecided",
                      self.find("#view-trend").text)

    def test_a_baseline_judges_all_of_them(self):
        self.show("--baseline", "b.assay")
        self.check_verdicts((("b.assay", "a.assay"), ("b.assay", "c.assay"),
                             ("b.assay", "d.assay")))
        self.assertIn("1 passed, 2 failed", self.find("#view-trend").text)

    def test_the_marks_have_shape_place_and_name(self):
        self.show()
        marks = self.find_all("#view-trend svg.chart .point")
        self.assertEqual([mark.tag_name for mark in marks],
                         ["circle", "circle", "path", "circle"])
        heights = [mark.rect["y"] for mark in marks]
        self.assertEqual(min(heights), heights[2])
        self.assertTrue(marks[2].get_attribute("aria-label")
                        .endswith(", failed"))
        self.hover(marks[2])
        for part in ("c.assay", "4.70", "failed", "over its budget"):
            self.assertIn(part, self.tooltip())

    def test_its_labels_do_not_overlap(self):
        for width, height in ((1400, 900), (400, 800)):
            for dark in (False, True):
                self.show(width=width, height=height, dark=dark)
                self.assertEqual(self.crossing_labels("#view-trend"), [])
                self.keep(f"trend-{width}{'-dark' if dark else ''}")
                self.assertLessEqual(self.run_script(
                    "return document.documentElement.scrollWidth"), width)

    def test_marks_of_a_server_lead_to_their_runs(self):
        self.open(served(self, self.folder), 1400, 900)
        self.keep("list")
        link = self.find("svg.trend a:has(.failed)")
        self.assertTrue(link.find_element(browser.By.CSS_SELECTOR, "title")
                        .get_attribute("textContent").startswith("c.assay: "))
        link.find_element(browser.By.CSS_SELECTOR, ".failed").click()
        self.assertEqual(self.find(".title p").text.split()[0], "c.assay")
        self.go("trend")
        chosen = self.find("#view-trend .point.chosen")
        self.assertIn("c.assay", chosen.get_attribute("aria-label"))
        self.run_script("arguments[0].focus()", chosen)
        self.press(browser.Keys.ARROW_RIGHT, browser.Keys.ENTER)
        self.assertEqual(self.find(".title p").text.split()[0], "d.assay")
        self.assertTrue(self.find("#view-trend").is_displayed())

    def test_a_baseline_that_is_not_there_is_refused(self):
        done = subprocess.run(
            [ASSAY, "report", "runs", "--baseline", "z.assay"],
            cwd=self.outside, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("z.assay", done.stderr)


class Runs(browser.Page):
    """What the program measured and imported, in every view."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def shared(self, name):
        path = SOURCE.parent / "shared" / "data" / name
        if not path.exists():
            self.skipTest(f"../shared/data/{name} is not here")
        return path

    def report(self, name, *how):
        """Writes the page of a run that is in the folder, opens it, and gives
        what `assay show --json` says of it."""
        assay(self.folder, "report", f"{name}.assay", "-o", f"{name}.html",
              *how)
        self.show(name, "overview")
        return json.loads(assay(self.folder, "show", f"{name}.assay",
                                "--json"))

    def show(self, name, tab, width=1400, height=900, dark=False):
        self.open(f"{(self.folder / name).as_uri()}.html#{tab}", width, height,
                  dark, width < 600)

    def check_every_view(self):
        for tab in self.run_script("return pageViews.map(view => view.key)"):
            self.go(tab)
            self.assertTrue(self.find(f"#view-{tab}").is_displayed(), tab)
            self.assertEqual(self.crossing_labels(f"#view-{tab}"), [], tab)

    def check_times(self, told):
        """The table has the times of the run file."""
        self.go("table")
        more = self.find("#view-table .more-rows")
        if more.is_displayed():
            more.click()
        labels = [head.text for head in self.find_all("#view-table th")]
        rows = self.run_script("""
            return [...document.querySelectorAll("#view-table tbody tr")]
                .filter(row => row.offsetParent)
                .map(row => [row.row.id, row.cells[arguments[0]].textContent,
                    row.cells[arguments[1]].textContent]);""",
                               labels.index("total ms"),
                               labels.index("self ms"))
        self.assertEqual(len(rows), len(told["tree"]))
        for row, *shown in rows:
            for text, key in zip(shown, ("total_ms", "self_ms")):
                value = told["tree"][row][key]
                if value is not None:
                    digits = len(text.partition(".")[2])
                    self.assertAlmostEqual(
                        float(text.replace("\u2212", "-")), value,
                        delta=0.51 * 10 ** -digits + 1e-5 * abs(value))

    def check_selection(self, told):
        """The module that takes longest by itself, found by its name, is the
        one that every view shows."""
        longest = max((row for row in told["tree"] if not row["is_outside"]),
                      key=lambda row: row["self_ms"] or 0)
        self.go("flame")
        self.find("#query").send_keys(longest["name"])
        self.assertNotEqual(self.find("#found").text, "0 found")
        self.run_script("select(state.report.nodes[arguments[0]])",
                        told["tree"].index(longest))
        self.assertEqual(self.find(".details h2").text.strip(),
                         longest["name"].strip())
        self.run_script("search('')")
        for button in range(len(self.find_all(".elsewhere button"))):
            self.find_all(".elsewhere button")[button].click()
            self.assertEqual(
                self.run_script("return state.selected.name"), longest["name"])

    def check_zoom(self):
        """Two steps in show less of the timeline, and 0 shows all of it."""
        self.go("timeline")
        seen = self.run_script("""
            const canvas = document.querySelector(".timeline canvas");
            const scene = pageViews.find(each => each.key === "timeline").scene;
            const press = key => {
                canvas.dispatchEvent(new KeyboardEvent("keydown", {key}));
                return scene.seen.to - scene.seen.from;
            };
            return [press("0"), press("+"), press("+"), press("0")];""")
        self.assertLess(seen[1], seen[0])
        self.assertLess(seen[2], seen[1])
        self.assertAlmostEqual(seen[3], seen[0], delta=1e-6 * seen[0])

    def keep_all(self, name, *tabs):
        for tab in tabs:
            for width, height in ((1400, 900), (400, 800)):
                for dark in (False, True):
                    self.show(name, tab, width, height, dark)
                    self.keep(f"run-{name}-{tab}-{width}"
                              f"{'-dark' if dark else ''}")
                    self.assertLessEqual(self.run_script(
                        "return document.documentElement.scrollWidth"), width)

    def check(self, told, *, is_timed=True):
        self.check_every_view()
        self.check_times(told)
        self.check_selection(told)
        if is_timed:
            self.check_zoom()

    def detect(self, name):
        assay(self.folder, "run", "faster-rcnn", SOURCE / "assets/coffee.jpg",
              "--min-size", "128", "-n", "6", "-o", f"{name}.assay")

    def test_a_detector_and_what_changed_in_it(self):
        self.detect("detector")
        told = self.report("detector")
        self.check(told)
        self.keep_all("detector", "overview", "flame")
        self.detect("again")
        self.check_comparison("detector", "again")

    def check_comparison(self, before, after):
        how = [f"{before}.assay", f"{after}.assay", "--fail-above", "5%"]
        assay(self.folder, "report", *how, "-o", "change.html")
        told = json.loads(subprocess.run(
            [ASSAY, "compare", *how, "--json"], cwd=self.folder, check=False,
            capture_output=True, text=True).stdout)
        self.show("change", "compare")
        self.find("#differences option[value=all]").click()
        more = self.find("#view-compare .more-rows")
        if more.is_displayed():
            more.click()
        self.assertIn(told["gate"]["text"], self.find("#view-compare").text)
        self.assertIn(told["verdict"][1:], self.find("#view-compare").text)
        rows = self.run_script("""
            return Object.fromEntries(
                [...document.querySelectorAll("#view-compare tbody tr")]
                    .map(row => [row.row.id, [...row.cells]
                        .map(cell => cell.textContent.trim())]));""")
        self.assertEqual(len(rows), len(told["rows"]))
        for i, row in enumerate(told["rows"]):
            shown = rows[str(i)]
            for text, key in zip(shown[1:3], ("a_ms", "b_ms")):
                if row[key] is not None:
                    self.assertAlmostEqual(float(text), row[key],
                                           delta=0.51 * 10 ** -len(
                                               text.partition(".")[2]))
            self.assertTrue(shown[8].startswith(browser.MARKS.get(
                row["mark"], row["mark"])), shown)
        self.check_every_view()
        self.keep_all("change", "compare")

    def test_a_yolo_from_onnx(self):
        model = self.shared("models/onnx/yolov8n/model.onnx")
        assay(self.folder, "run", model, SOURCE / "assets/coffee.jpg",
              "--decode", "yolov8", "-n", "3", "-o", "yolo.assay")
        self.check(self.report("yolo"))
        self.go("graph")
        self.assertGreater(len(self.find_all("#view-graph .box")), 5)
        self.keep_all("yolo", "graph")

    def test_a_training(self):
        assay(self.folder, "train", "--synthetic", "--steps", "4",
              "--min-size", "64", "--set", "model.name=resnet18",
              "-o", "training.assay", "--html", "training.html")
        told = self.report("training")
        self.check(told)
        self.go("training")
        loss = next(series for series in told["series"]
                    if series["name"] == "train.loss")
        self.assertEqual(len(self.find_all(
            "#view-training .first circle")), len(loss["values"]))
        for chart in self.find_all("#view-training svg.chart"):
            self.assertGreaterEqual(self.run_script("""
                return [...arguments[0].querySelectorAll("text")].filter(
                    text => text.getAttribute("text-anchor") === "end" &&
                        Number.isFinite(Number(text.textContent))).length;""",
                                                    chart), 3)
        self.keep_all("training", "training")

    def test_an_imported_trace_of_a_gpu(self):
        trace = self.shared("traces/kineto/resnet50_num_workers_0.worker0."
                            "1623143566756.pt.trace.json.gz")
        assay(self.folder, "import", trace, "-o", "gpu.assay")
        told = self.report("gpu")
        self.check(told)
        self.go("timeline")
        names = self.run_script("""
            return state.report.main.threads.map(thread => thread.name);""")
        self.assertTrue(any("stream" in name for name in names), names)
        self.keep_all("gpu", "timeline")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
