#!/usr/bin/python3
"""The charts: memory, roofline, latency, training, pictures.

    report_charts_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
from browser import By
import report_page
from report_page import Report


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

    def test_the_roofline_of_a_device_takes_its_time_not_the_hosts(self):
        self.show("streams", "roofline")
        text = self.find("#view-roofline").text
        self.assertIn("peak 20.0 TFLOP/s", text)
        # 12 GFLOP in 6 ms of kernels; the host took 4 ms to launch them.
        labels = [point.get_attribute("aria-label") for point in
                  self.find_all("#view-roofline .point")]
        self.assertIn("aten::mm, 2.00 TFLOP/s", labels)
        self.keep("roofline-device")

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


if __name__ == "__main__":
    report_page.main()
