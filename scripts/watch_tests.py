#!/usr/bin/python3
"""Shows what CTest is doing: a line for every finished test, with its time, and
every 15 s the tests that have been running for more than 10 s.

    ctest ... | scripts/watch_tests.py
"""
import os
import re
import select
import sys
import time

LONG_SECONDS = 10
EVERY_SECONDS = 15

START = re.compile(r"^\s*Start\s+\d+: (\S+)")
END = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+)")


class Watch:
    """The running tests by name, with their start times."""

    def __init__(self, long_seconds, every_seconds):
        self.long_seconds = long_seconds
        self.every_seconds = every_seconds
        self.running = {}
        self.reported = 0

    def take(self, line, now):
        """What to show for a line from CTest, or None."""
        started = START.match(line)
        if started:
            self.running[started.group(1)] = now
            return None
        ended = END.match(line)
        if ended:
            self.running.pop(ended.group(1), None)
        return line

    def report(self, now):
        """A line about the tests that take long; None if none is due."""
        long = [f"{name} ({now - began:.0f} s)"
                for name, began in self.running.items()
                if now - began >= self.long_seconds]
        if not long or now - self.reported < self.every_seconds:
            return None
        self.reported = now
        return "        still running: " + ", ".join(long) + "\n"


def main(source, out):
    watch = Watch(LONG_SECONDS, EVERY_SECONDS)
    rest = b""
    while True:
        is_ready = select.select([source], [], [], 1)[0]
        if is_ready:
            some = os.read(source, 1 << 16)
            lines = (rest + some).splitlines(keepends=True)
            rest = b""
            if some and lines and not lines[-1].endswith(b"\n"):
                rest = lines.pop()
            for line in lines:
                shown = watch.take(line.decode(errors="replace"),
                                   time.monotonic())
                out.write(shown or "")
            if not some:
                break
        out.write(watch.report(time.monotonic()) or "")
        out.flush()
    out.flush()


if __name__ == "__main__":
    main(sys.stdin.fileno(), sys.stdout)
