#!/usr/bin/python3
"""Serves bytes on loopback for download_test, correctly and incorrectly.

    file_server.py FOLDER

Prints its port, writes the path and the Range of every request to
FOLDER/requests, and ends when its standard input does. /good/N sends N bytes
and supports ranges, /whole/N does not, /cut/N stops in the middle unless asked
for the rest, /moved/N redirects, /endless/N sends ten times as much without
announcing a length; /wait/N and /half/N send nothing, or a half, until
FOLDER/go exists; anything else is 404.
"""
import http.server
import os
import re
import sys
import threading
import time


def content(n):
    return bytes(i * i % 251 for i in range(n))


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body, n_sent=None, extra=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:n_sent])

    def wait(self, body, n_first):
        if n_first:
            self.answer(200, body, n_first)
            self.wfile.flush()
        while not os.path.exists(os.path.join(sys.argv[1], "go")):
            time.sleep(0.01)
        if n_first:
            self.wfile.write(body[n_first:])
        else:
            self.answer(200, body)

    def do_GET(self):
        wanted = self.headers.get("Range", "-")
        with open(os.path.join(sys.argv[1], "requests"), "a") as log:
            print(self.path, wanted, file=log)
        match = re.fullmatch(r"/(good|whole|cut|moved|endless|wait|half)/(\d+)", self.path)
        if not match:
            return self.answer(404, b"no")
        how, body = match[1], content(int(match[2]))
        if how in ("wait", "half"):
            return self.wait(body, len(body) // 2 if how == "half" else 0)
        first = re.fullmatch(r"bytes=(\d+)-", wanted)
        if how == "endless":
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            try:
                for _ in range(10):
                    self.wfile.write(body)
            except OSError:  # had enough
                pass
            return None
        if how == "moved":
            return self.answer(302, b"", extra={"Location": f"/good/{match[2]}"})
        if how == "whole" or not first:
            n_sent = len(body) // 2 if how == "cut" else None
            self.close_connection = True
            return self.answer(200, body, n_sent)
        at = int(first[1])
        if at >= len(body):
            return self.answer(416, b"", extra={
                "Content-Range": f"bytes */{len(body)}"})
        return self.answer(206, body[at:], extra={
            "Content-Range": f"bytes {at}-{len(body) - 1}/{len(body)}"})


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
