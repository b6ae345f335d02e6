#!/usr/bin/python3
"""The timeline: threads, streams, areas, counters.

    report_timeline_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
from browser import ActionChains, By
import report_page
from report_page import Report
from selenium.webdriver.common.keys import Keys


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


if __name__ == "__main__":
    report_page.main()
