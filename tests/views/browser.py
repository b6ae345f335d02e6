"""Debian's Chromium without a window, for the tests of the report.

A test that imports this exits with 77 and the reason if the browser, its driver
or Selenium is missing.
"""
import shutil
import sys
import time
import unittest


def leave(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
except ImportError:
    leave("python3-selenium is not installed")
BROWSER = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
if not BROWSER or not DRIVER:
    leave("chromium and chromium-driver are not installed")


# What the page says for marks of `assay compare`.
MARKS = {"=": "within noise", "?": "undecided"}


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


CROSSING_LABELS = """
    const boxes = [...document.querySelectorAll(arguments[0] + " svg.chart text")]
        .filter(text => text.textContent.trim())
        .map(text => {
            const {x, y, width, height} = text.getBBox();
            const rim = height * 0.18, matrix = text.getScreenCTM();
            const corners = [[x, y + rim], [x + width, y + rim],
                [x + width, y + height - rim], [x, y + height - rim]];
            return {text: text.textContent, corners: corners.map(([x, y]) =>
                new DOMPoint(x, y).matrixTransform(matrix))};
        });
    /* Two that overlap have no line between them along a side of either. */
    const isApart = (a, b) => [a, b].some(box => [0, 1].some(i => {
        const p = box.corners[i], q = box.corners[i + 1];
        const along = corner => corner.x * (q.x - p.x) + corner.y * (q.y - p.y);
        const [low, high] = [a, b].map(each => each.corners.map(along));
        return Math.max(...low) <= Math.min(...high) ||
            Math.max(...high) <= Math.min(...low);
    }));
    return boxes.flatMap((a, i) => boxes.slice(i + 1)
        .filter(b => !isApart(a, b)).map(b => `${a.text} / ${b.text}`));"""


class Page(unittest.TestCase):
    """One browser for all tests; each opens the page it needs."""

    browser = None
    screenshots = None

    def tearDown(self):
        said = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertEqual(said, [], "the console is not empty")

    def open(self, address, width=1280, height=900, dark=False, phone=False,
             media=""):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1,
             "mobile": phone})
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": media, "features": [
                {"name": "prefers-color-scheme",
                 "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.browser.get("about:blank")  # a new hash alone loads nothing
        self.browser.get(address)

    def go(self, place):
        """To another place of the page. The browser tells it of that later; if
        the page wrote its own state into the address in between, the next try
        gets there."""
        end = time.monotonic() + 30
        while True:
            self.run_script("""
                if (location.hash.slice(1) !== arguments[0])
                    location.hash = arguments[0];""", place)
            if self.run_script("return document.documentElement.dataset.view"
                               ) == place.split("&")[0]:
                return
            self.assertLess(time.monotonic(), end, place)
            time.sleep(0.05)

    def keep(self, name):
        self.browser.save_screenshot(str(self.screenshots / f"{name}.png"))

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def crossing_labels(self, view):
        """Pairs of texts of a chart that overlap."""
        return self.run_script(CROSSING_LABELS, view)

    def compared(self):
        """The rows of the table as {module: cells}, in their order."""
        return self.run_script("""
            return [...document.querySelectorAll("#view-compare tbody tr")]
                .map(row => [pathText(row.row), ...[...row.cells].slice(1)
                    .map(cell => cell.textContent.trim())]);""")

    def column(self, label):
        """The texts of a column of the table that is shown."""
        return self.run_script("""
            const table = [...document.querySelectorAll("#view-table table")]
                .find(each => each.offsetParent);
            const at = [...table.querySelectorAll("th")]
                .findIndex(head => head.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr")]
                .map(row => row.cells[at].textContent.trim());""", label)

    def sort_by(self, label):
        for head in self.find_all("#view-table th button"):
            if head.text == label:
                head.click()
                return
        self.fail(f"there is no column {label}")

    def tooltip(self):
        return self.run_script("""
            const box = document.getElementById("tooltip");
            return box.hidden ? "" : box.textContent;""")

    def hover(self, element, x=0, y=0):
        ActionChains(self.browser, duration=0) \
            .move_to_element_with_offset(element, x, y).perform()

    def press(self, *keys):
        ActionChains(self.browser, duration=0).send_keys(*keys).perform()


def start(screenshots):
    screenshots.mkdir(parents=True, exist_ok=True)
    Page.screenshots = screenshots
    Page.browser = start_browser()


def stop():
    Page.browser.quit()
