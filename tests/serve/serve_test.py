#!/usr/bin/python3
"""assay serve: what it shows, and what it refuses.

    serve_test.py ASSAY
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ASSAY = str(pathlib.Path(sys.argv[1]).resolve())
HOSTILE = "<img src=x onerror=alert(1)>&'\".assay"


def make_run(path, milliseconds):
    """Twelve iterations, as another profiler would have traced them."""
    events = []
    for i in range(12):
        start = i * 100000
        events.append({"ph": "X", "name": f"ProfilerStep#{i}", "pid": 1,
                       "tid": 1, "ts": start, "dur": milliseconds * 1000})
        events.append({"ph": "X", "name": "layer", "pid": 1, "tid": 1,
                       "ts": start + 10, "dur": milliseconds * 900})
    trace = path.parent / "trace.json"
    trace.write_text(json.dumps(events))
    subprocess.run([ASSAY, "import", str(trace), "-o", str(path)], check=True,
                   stdout=subprocess.DEVNULL)
    trace.unlink()


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outside = pathlib.Path(tempfile.mkdtemp())
        cls.folder = cls.outside / "runs"
        cls.folder.mkdir()
        make_run(cls.folder / "fast.assay", 10)
        make_run(cls.folder / "slow.assay", 20)
        shutil.copy(cls.folder / "fast.assay", cls.outside / "secret.assay")
        shutil.copy(cls.folder / "fast.assay", cls.folder / HOSTILE)
        whole = (cls.folder / "fast.assay").read_bytes()
        (cls.folder / "cut.assay").write_bytes(whole[:len(whole) // 2])
        (cls.folder / "notes.txt").write_text("not a run")
        (cls.folder / "link.assay").symlink_to(cls.outside / "secret.assay")
        shutil.copy(cls.folder / "fast.assay",
                    cls.folder / "live.assay.12-abcdef.part")
        cls.server = subprocess.Popen(
            [ASSAY, "serve", str(cls.folder), "--port", "0"],
            stdout=subprocess.PIPE, text=True)
        cls.server.stdout.readline()
        address = cls.server.stdout.readline().split()[-1]
        cls.port = urllib.parse.urlparse(address).port

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGINT)
        cls.server.wait(30)
        cls.server.stdout.close()
        shutil.rmtree(cls.outside)

    def ask(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=60)
        try:
            connection.putrequest(method, target, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    def page_of(self, name):
        return self.ask("/run?" + urllib.parse.urlencode({"name": name}))

    def test_the_list_has_every_run_with_its_verdict(self):
        answer, text = self.ask("/")
        self.assertEqual(answer.status, 200)
        for part in ("fast.assay", "slow.assay", "live.assay.12-abcdef.part",
                     "recording", "mean latency of the runs in order", "10.0 ms", "20.0 ms",
                     "--fail-above 5%"):
            self.assertIn(part, text)

    def test_the_gate_speaks_as_assay_compare_does(self):
        _, text = self.ask("/")
        told = subprocess.run(
            [ASSAY, "compare", "fast.assay", "slow.assay", "--fail-above", "5%",
             "--json"], cwd=self.folder, capture_output=True, text=True,
            check=False)
        words = json.loads(told.stdout)["gate"]["text"]
        self.assertTrue(words.startswith("failed: "), words)
        self.assertIn('<b class="worse">failed</b>' + words[6:], text)
        self.assertIn('class="failed"', text)
        _, page = self.page_of("slow.assay")
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        points = {point["name"]: point for point in data["trend"]["points"]}
        self.assertEqual(points["slow.assay"]["text"], words)
        self.assertEqual(points["slow.assay"]["result"], "failed")
        self.assertEqual(points["fast.assay"]["result"], "passed")

    def test_a_comparison_has_the_gate_too(self):
        _, page = self.ask("/compare?a=fast.assay&b=slow.assay")
        self.assertIn('"gate":{"result":"failed"', page)

    def test_a_baseline_must_be_a_run_of_the_folder(self):
        for name in ("none.assay", "cut.assay", "notes.txt"):
            done = subprocess.run(
                [ASSAY, "serve", str(self.folder), "--port", "0",
                 "--baseline", name], capture_output=True, text=True,
                check=False, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn(name, done.stderr)

    def test_damaged_and_foreign_files_are_listed_as_such(self):
        _, text = self.ask("/")
        others = text[text.index("Other files"):]
        for part in ("cut.assay", "damaged", "notes.txt", "not a run file"):
            self.assertIn(part, others)

    def test_a_run_opens_as_its_report(self):
        answer, text = self.page_of("fast.assay")
        self.assertEqual(answer.status, 200)
        self.assertIn('"source":"fast.assay"', text)
        self.assertNotIn("Refresh", answer.headers)

    def test_two_runs_open_as_their_difference(self):
        answer, text = self.ask("/compare?a=fast.assay&b=slow.assay")
        self.assertEqual(answer.status, 200)
        self.assertIn('"comparison":', text)

    def test_the_page_of_a_run_that_is_recorded_asks_for_its_data(self):
        name = "live.assay.12-abcdef.part"
        os.utime(self.folder / name)
        answer, page = self.page_of(name)
        self.assertEqual(answer.status, 200)
        self.assertNotIn("Refresh", answer.headers)
        self.assertIn("connect-src 'self'", page)
        answer, text = self.ask("/data?name=" + name)
        self.assertEqual(answer.headers["Content-Type"],
                         "application/json; charset=utf-8")
        self.assertEqual(json.loads(text)["refresh_s"], 3)
        self.assertIn(text, page)

    def test_the_page_of_a_complete_run_asks_for_nothing(self):
        _, page = self.page_of("fast.assay")
        self.assertNotIn("connect-src", page)
        _, text = self.ask("/data?name=fast.assay")
        self.assertEqual(json.loads(text)["refresh_s"], 0)
        for name in ("../secret.assay", "link.assay", "none.assay"):
            self.assertEqual(self.ask("/data?name=" + name)[0].status, 404)

    def test_a_run_that_was_recorded_is_found_under_its_own_name(self):
        answer, text = self.page_of("slow.assay.99-abcdef.part")
        self.assertEqual(answer.status, 200)
        self.assertIn('"source":"slow.assay"', text)

    def test_hostile_names_are_text(self):
        _, text = self.ask("/")
        self.assertNotIn("<img", text)
        self.assertIn("default-src 'none'", text)
        self.assertNotIn("unsafe", text)
        answer, text = self.page_of(HOSTILE)
        self.assertEqual(answer.status, 200)
        self.assertNotIn("<img", text)

    def test_nothing_outside_the_folder_is_served(self):
        for name in ("../secret.assay", "/etc/passwd", "link.assay", "..",
                     "", "runs/../../secret.assay",
                     str(self.outside / "secret.assay")):
            answer, text = self.page_of(name)
            self.assertEqual(answer.status, 404, name)
            self.assertNotIn('"source"', text)
        for target in ("/../secret.assay", "/%2e%2e/secret.assay",
                       "/run", "/fast.assay"):
            self.assertEqual(self.ask(target)[0].status, 404, target)

    def test_other_hosts_and_methods_are_refused(self):
        for host in ("evil.example", f"evil.example:{self.port}",
                     "127.0.0.1:1"):
            self.assertEqual(self.ask("/", Host=host)[0].status, 403)
        self.assertEqual(
            self.ask("/", Host=f"localhost:{self.port}")[0].status, 200)
        self.assertEqual(self.ask("/", method="POST")[0].status, 405)
        answer, text = self.ask("/", method="HEAD")
        self.assertEqual((answer.status, text), (200, ""))

    def test_a_file_that_shrinks_or_goes_is_told(self):
        path = self.folder / "shrinks.assay"
        shutil.copy(self.folder / "fast.assay", path)
        self.assertEqual(self.page_of(path.name)[0].status, 200)
        os.truncate(path, 5000)
        answer, text = self.page_of(path.name)
        self.assertEqual(answer.status, 404)
        self.assertIn("shrinks.assay", text)
        path.unlink()
        self.assertEqual(self.page_of(path.name)[0].status, 404)

    def test_a_thousand_requests_at_once_are_answered(self):
        with concurrent.futures.ThreadPoolExecutor(1000) as pool:
            sizes = {len(text) for _, text in
                     pool.map(lambda _: self.page_of("fast.assay"),
                              range(1000))}
        self.assertEqual(len(sizes), 1)
        self.assertGreater(sizes.pop(), 10000)

    def test_clients_that_say_nothing_do_not_stop_others(self):
        idle = [http.client.HTTPConnection("127.0.0.1", self.port)
                for _ in range(50)]
        for connection in idle:
            connection.connect()
            connection.sock.sendall(b"GET / HT")
        self.assertEqual(self.ask("/")[0].status, 200)
        for connection in idle:
            connection.close()

    def test_a_second_server_on_the_port_says_what_to_do(self):
        second = subprocess.run(
            [ASSAY, "serve", str(self.folder), "--port", str(self.port)],
            capture_output=True, text=True, check=False)
        self.assertEqual(second.returncode, 3)
        self.assertIn("--port", second.stderr)

    def test_a_folder_that_is_not_there_is_refused(self):
        answer = subprocess.run([ASSAY, "serve", str(self.folder / "none")],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 3)
        self.assertIn("none", answer.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
