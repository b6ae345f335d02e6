#!/usr/bin/python3
"""Who cannot see well, or uses the keyboard: contrast, names, focus, motion.

    report_access_test.py PAGES SCREENSHOTS

PAGES has what report_pages_test wrote. Exits with 77 and the reason if the
browser, its driver or Selenium is missing.
"""
import report_page
from report_page import Report

# Texts whose contrast with what is behind them is below 4.5; what the search dims is left out,
# and so is text in boxes of the graph: its pairs of colours are in report_browser_test.py.
FAINT_TEXTS = r"""
    const parts = text => {
        const found = text.match(/[\d.]+/g);
        const [r, g, b, alpha = 1] = found ? found.map(Number) : [0, 0, 0, 0];
        return text.startsWith("color(") ? [255 * r, 255 * g, 255 * b, alpha]
                                         : [r, g, b, alpha];
    };
    const over = (top, low) => [0, 1, 2].map(
        i => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
    const light = colour => {
        const [r, g, b] = colour.map(value => {
            const part = value / 255;
            return part <= 0.04045 ? part / 12.92
                                   : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ownText = element => element.tagName === "INPUT"
        ? element.placeholder
        : [...element.childNodes].filter(node => node.nodeType === 3)
            .map(node => node.textContent.trim()).join("");
    const shown = [...document.querySelectorAll("body *")].filter(element =>
        ownText(element) && element.checkVisibility({checkOpacity: true}) &&
        !element.closest(".unseen, .skip, script, option, .dim, .on"));
    const faint = shown.map(element => {
        const isDrawn = element instanceof SVGElement;
        const style = getComputedStyle(element,
            element.tagName === "INPUT" ? "::placeholder" : null);
        let opacity = 1, layers = [];
        for (let at = element; at; at = at.parentElement) {
            const look = getComputedStyle(at);
            opacity *= Number(look.opacity);
            layers.unshift(parts(look.backgroundColor));
        }
        const ground = layers.reduce((low, top) => over(top, low), [255, 255, 255, 1]);
        const ink = parts(isDrawn ? style.fill : style.color);
        const seen = over([...ink.slice(0, 3), ink[3] * opacity], ground);
        const [low, high] = [light(seen), light(ground)].sort((a, b) => a - b);
        return [(high + 0.05) / (low + 0.05), ownText(element).slice(0, 40)];
    });
    return [shown.length, faint.filter(([ratio]) => ratio < 4.5)];"""

NAMELESS = """
    return [...document.querySelectorAll(
        "button, a, input, select, canvas, img, svg.chart, svg.graph, [role]")]
        .filter(element => element.checkVisibility() &&
            !element.closest("[aria-hidden=true]"))
        .filter(element => ![element.getAttribute("aria-label"),
            element.textContent.trim(), element.getAttribute("alt"),
            element.labels && [...element.labels].map(
                label => label.textContent).join("")].some(Boolean))
        .map(element => element.outerHTML.slice(0, 120));"""

# One control of each kind, with how it looks without and with the focus.
FOCUSED_LOOKS = """
    const look = element => JSON.stringify([element, element.firstElementChild]
        .filter(Boolean).map(item => {
            const style = getComputedStyle(item);
            return [style.outlineStyle, style.outlineWidth, style.boxShadow,
                style.stroke, style.strokeWidth, style.backgroundColor];
        }));
    const kinds = new Map();
    for (const element of document.querySelectorAll(
        "button, a, input, select, canvas, [tabindex]:not(#views)"))
        if (element.checkVisibility() && !element.closest("[aria-hidden=true]"))
            kinds.set(element.tagName + element.classList[0] +
                element.getAttribute("role"), element);
    return [...kinds].map(([kind, element]) => {
        document.activeElement.blur();
        const before = look(element);
        element.focus();
        return [kind, document.activeElement === element &&
            look(element) !== before];
    });"""

PAGES_AND_VIEWS = ("graph", "streams", "training", "two")


class Access(Report):
    def views(self, page, dark=False):
        self.show(page, "overview", 1400, 900, dark)
        for view in self.run_script("return pageViews.map(view => view.key)"):
            self.go(view)
            yield view

    def test_text_that_is_shown_has_enough_contrast(self):
        for page in PAGES_AND_VIEWS:
            for dark in (False, True):
                for view in self.views(page, dark):
                    n, faint = self.run_script(FAINT_TEXTS)
                    self.assertGreater(n, 10)
                    self.assertEqual(faint, [], (page, view, dark))

    def test_everything_has_a_name(self):
        for page in PAGES_AND_VIEWS:
            for view in self.views(page):
                self.assertEqual(self.run_script(NAMELESS), [], (page, view))

    def test_the_focus_is_visible_on_every_kind_of_control(self):
        for page in PAGES_AND_VIEWS:
            for view in self.views(page):
                looks = self.run_script(FOCUSED_LOOKS)
                self.assertGreater(len(looks), 4)
                self.assertEqual([kind for kind, is_seen in looks
                                  if not is_seen], [], (page, view))

    def test_nothing_moves_for_those_who_do_not_want_it(self):
        self.show("full")  # with prefers-reduced-motion
        self.assertEqual(self.run_script("""
            return [...document.querySelectorAll("*")].filter(element => {
                const style = getComputedStyle(element);
                return parseFloat(style.transitionDuration) > 0 ||
                    style.animationName !== "none" ||
                    style.scrollBehavior === "smooth";
            }).length;"""), 0)


if __name__ == "__main__":
    report_page.main()
