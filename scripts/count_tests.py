#!/usr/bin/python3
"""Counts the tests of CTest runs and names those that failed or were skipped.

    scripts/count_tests.py RUN...

RUN is a build folder, or FOLDER@LEVEL for its tests with ASSAY_CPU=LEVEL.
Reads FOLDER/tests.xml or FOLDER/tests-LEVEL.xml, which CTest writes for
scripts/run_tests.sh. Each TEST of a program (tests/test.h) counts; any other
entry counts as one. Tests that this processor cannot run are counted separately
from those that are skipped for other reasons.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# The line cmocka prints when a test ends; its closing summary repeats the failed
# and skipped ones, with a count ("1 test(s), ...") above them.
OUTCOME = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.MULTILINE)
REASON = re.compile(r"^skipped: (.*)$", re.MULTILINE)
PROCESSOR = "processor: "  # SKIP_PROCESSOR() in tests/test.h


class Tally:
    """Names of tests by outcome; those skipped with a reason."""

    def __init__(self):
        self.passed = []
        self.failed = []
        self.skipped = {}

    def add_entry(self, name, status, output):
        outcomes = {"OK": [], "FAILED": [], "SKIPPED": []}
        reason_from = 0
        for match in OUTCOME.finditer(output):
            outcome, test = match.groups()
            if test in outcomes[outcome]:
                continue
            outcomes[outcome].append(test)
            if outcome == "SKIPPED":
                said = REASON.findall(output, reason_from, match.start())
                self.skipped[f"{name}.{test}"] = said[-1] if said else "?"
            reason_from = match.end()
        self.passed += [f"{name}.{test}" for test in outcomes["OK"]]
        self.failed += [f"{name}.{test}" for test in outcomes["FAILED"]]

        said = REASON.findall(output)
        if status == "run" and not any(outcomes.values()):
            self.passed.append(name)
        elif status == "notrun" and said:
            self.skipped[name] = said[-1]
        elif status != "run" and not outcomes["FAILED"]:
            # A script, a program that died before it could name the test, or a
            # program that does not exist.
            self.failed.append(name)

    def read(self, run, prefix):
        folder, at, level = run.partition("@")
        name = f"tests-{level}.xml" if at else "tests.xml"
        suite = ElementTree.parse(f"{folder}/{name}").getroot()
        for case in suite.iter("testcase"):
            self.add_entry(prefix + case.get("name"), case.get("status"),
                           case.findtext("system-out") or "")

    def closing_line(self):
        for_processor = sum(reason.startswith(PROCESSOR)
                            for reason in self.skipped.values())
        line = (f"{len(self.passed)} passed, {len(self.failed)} failed, "
                f"{len(self.skipped)} skipped")
        if for_processor:
            line += f" ({for_processor} of them for this processor)"
        return line


def main(runs):
    tally = Tally()
    for run in runs:
        try:
            tally.read(run, f"{run}: " if len(runs) > 1 else "")
        except (OSError, ElementTree.ParseError) as error:
            print(f"{run}: the tests did not finish: {error}")
            tally.failed.append(run)

    print()
    for name, reason in tally.skipped.items():
        print(f"skipped  {name}: {reason}")
    for name in tally.failed:
        print(f"failed   {name}")
    print(tally.closing_line())
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
