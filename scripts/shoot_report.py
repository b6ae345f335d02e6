#!/usr/bin/python3
"""Makes the picture of an HTML report for the docs.

    scripts/shoot_report.py REPORT.html PICTURE.png [MODULE [VIEW]]

Opens the page in Chromium (packages/test.txt), selects a module by name and
writes a PNG with few colours to keep it small. The one in docs/images shows
`assay run faster-rcnn assets/coffee.jpg --min-size 320 --html REPORT.html`.
"""
import io
import pathlib
import sys
import time

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTH = 1200
HEIGHT = 700
COLOURS = 128


def set_height(browser, height):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": WIDTH, "height": height, "deviceScaleFactor": 1,
         "mobile": False})
    time.sleep(0.5)  # the page lays itself out again


def shoot(page, module, view):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options,
                               service=Service("/usr/bin/chromedriver"))
    try:
        browser.get(page.resolve().as_uri() + "#" + view)
        set_height(browser, HEIGHT)
        browser.execute_script(
            "select(state.report.nodes.find(node => node.name === "
            "arguments[0]) || state.report.root)", module)
        time.sleep(0.5)
        return Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    finally:
        browser.quit()


def main(page, picture, module="fc6", view="flame"):
    image = shoot(pathlib.Path(page), module, view).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE,
                   dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
