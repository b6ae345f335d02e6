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


def make_run(path, n_iterations, n_layers=60):
    """As another profiler would have traced it: the i-th layer takes i times
    100 us."""
    events, start = [], 0
    for i in range(n_iterations):
        at = start + 10
        for k in range(n_layers):
            events.append({"ph": "X", "name": f"layer{k}", "pid": 1, "tid": 1,
                           "ts": at, "dur": 100 * (k + 1)})
            at += 100 * (k + 1)
        events.append({"ph": "X", "name": f"ProfilerStep#{i}", "pid": 1,
                       "tid": 1, "ts": start, "dur": at - start + 10})
        start = at + 1000
    trace = path.parent / "trace.json"
    trace.write_text(json.dumps(events))
    assay(path.parent, "import", trace, "-o", path)
    trace.unlink()


class Live(browser.Page):
    """A run that is being recorded changes where the reader is."""

    def setUp(self):
        self.outside = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.outside)
        folder = self.outside / "runs"
        folder.mkdir()
        self.part = folder / "live.assay.12-abcdef.part"
        self.record(8)
        server = subprocess.Popen(
            [ASSAY, "serve", str(folder), "--port", "0"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, server)
        server.stdout.readline()
        self.address = server.stdout.readline().split()[-1]

    @staticmethod
    def stop(server):
        server.send_signal(signal.SIGINT)
        server.wait(30)
        server.stdout.close()

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
        self.run_script("location.hash = 'timeline&sel=layer41'")
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
