#!/usr/bin/python3
"""Tests the scripts that check the tree and count the tests, each on a small
tree made for it.

    scripts_test.py ROOT
"""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import check_links  # noqa: E402
import check_options  # noqa: E402
import check_packages  # noqa: E402
import check_rooms  # noqa: E402
import check_style  # noqa: E402
import count_tests  # noqa: E402
import watch_tests  # noqa: E402


class Tree(unittest.TestCase):
    """A folder of small files for a check to look at."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Rooms(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/rooms.txt", "base:\nrun: base\nviews: run\n")
        self.write("src/base/mem.h", "")
        self.write("src/run/run.h", "")
        self.write("src/run/run_internal.h", "")
        self.write("src/views/tree.h", "")

    def problems(self):
        return "\n".join(check_rooms.check(self.root))

    def test_a_room_may_include_what_it_stands_on_at_any_depth(self):
        self.write("src/views/tree.c", '#include "views/tree.h"\n'
                   '#include "base/mem.h"\n#include "run/run.h"\n')
        self.assertEqual(self.problems(), "")

    def test_a_room_may_not_include_one_above_it(self):
        self.write("src/run/run.c", '#include "run/run.h"\n'
                   '#  include "views/tree.h"\n')
        self.assertIn("src/run/run.c:2: run may not know views",
                      self.problems())

    def test_internal_headers_stay_at_home(self):
        self.write("src/run/run.c", '#include "run/run.h"\n'
                   '#include "run/run_internal.h"\n')
        self.assertEqual(self.problems(), "")
        self.write("src/views/tree.c", '#include "views/tree.h"\n'
                   '#include "run/run_internal.h"\n')
        self.assertIn("src/views/tree.c:2:", self.problems())

    def test_includes_name_their_room(self):
        self.write("src/run/scope.c", '#include "run_internal.h"\n')
        self.assertIn("src/run/scope.c:1:", self.problems())

    def test_a_source_file_includes_its_own_header_first(self):
        self.write("src/run/run.c", '#include "base/mem.h"\n'
                   '#include "run/run.h"\n')
        self.assertIn('the first include must be "run/run.h"',
                      self.problems())

    def test_only_its_bridge_includes_a_library_of_several_versions(self):
        self.write("src/rooms.txt", "base:\nbackend: base\n")
        self.write("src/backend/dnnl/native_internal.h",
                   "#include <dnnl.h>\n")
        self.write("src/backend/dnnl/pooling.c", "#include <math.h>\n")
        self.assertNotIn("src/backend", self.problems())
        self.write("src/backend/dnnl/pooling.c",
                   "#include <oneapi/dnnl/dnnl_types.h>\n")
        self.assertIn("src/backend/dnnl/pooling.c:1: <oneapi/dnnl/dnnl_types.h>"
                      " is for ", self.problems())

    def test_the_table_matches_the_folders_and_has_no_cycle(self):
        self.write("src/extra/extra.h", "")
        self.write("src/rooms.txt",
                   "base: views\nrun: base\nviews: run ghost\n")
        found = self.problems()
        self.assertIn("src/extra: not in src/rooms.txt", found)
        self.assertIn("there is no src/ghost", found)
        self.assertIn("stands on itself", found)

    def test_examples_include_only_public_headers(self):
        self.write("examples/demo.c", '#include <assay.h>\n'
                   '#include "run/run.h"\n')
        self.assertIn("examples/demo.c:2:", self.problems())


class Style(Tree):
    HEADER = ("/* base/x.h - an x.\n *\n * SPDX-License-Identifier: MIT */\n")

    def problems(self, name, text):
        self.write(name, text)
        return "\n".join(check_style.check(self.root))

    def test_a_good_file_passes(self):
        self.assertEqual(self.problems("src/base/x.h", self.HEADER), "")

    def test_heads_name_the_file_and_headers_the_licence(self):
        self.assertIn("must begin with",
                      self.problems("src/base/y.h", self.HEADER))
        self.assertIn("no SPDX", self.problems(
            "src/base/x.h", "/* base/x.h - an x. */\n"))

    def test_line_comments_are_found_but_not_in_strings(self):
        head = "/* base/a.c - see http://example.org */\n"
        fine = head + 'const char *a = "//"; /* // */ const char b = \'"\';\n'
        self.assertEqual(self.problems("src/base/a.c", fine), "")
        self.assertIn("src/base/a.c:2: a // comment", self.problems(
            "src/base/a.c", head + "int a; // an a\n"))

    def test_long_lines_functions_and_files_are_found(self):
        head = "/* base/a.c - an a. */\n"
        body = "int f(void)\n{\n" + "    f();\n" * 98 + "}\n"
        self.assertEqual(self.problems("src/base/a.c", head + body), "")
        body = body.replace("}", "    f();\n}")
        self.assertIn("a function of 101 lines",
                      self.problems("src/base/a.c", head + body))
        self.assertIn("801 lines", self.problems(
            "src/base/a.c", head + "int a;\n" * 800))
        self.assertIn("101 columns", self.problems(
            "src/base/a.c", head + "/" + "*" * 99 + "/\n"))

    def test_untidy_text_is_found(self):
        for text, what in (("\tx\n", "a tab"), ("x \n", "blanks"),
                           ("x", "newline"), ("x\n\n", "newline"),
                           ("# TO" "DO\n", "unfinished")):
            self.assertIn(what, self.problems("scripts/x.sh", text))

    def test_static_functions_of_two_files_have_different_names(self):
        head = "/* views/%s.c - views. */\n\n"
        other = head % "two"
        self.write("src/views/one.c", head % "one" + "static int *put(int a)\n"
                   "{\n    return put(a);\n}\n")
        self.assertEqual(self.problems(
            "src/views/two.c", other + "/*\nstatic int put(int a) */\n"
            "static const int put = 1;\n"), "")
        self.assertIn("put(): static in 2 files", self.problems(
            "src/views/two.c", other + "VARIANTS(void, put, (int a), (a))\n"
            "{\n}\n"))

    def test_names_are_unique_outside_tests_and_say_something(self):
        self.write("tests/base/x.h", self.HEADER.replace("base", "tests/base"))
        self.assertEqual(self.problems("src/base/x.h", self.HEADER), "")
        self.assertIn("the name of 2 files", self.problems(
            "src/run/x.h", self.HEADER.replace("base", "run")))
        self.assertIn("name it after", self.problems(
            "src/base/util.c", "/* base/util.c - all sorts. */\n"))


class Packages(Tree):
    def problems(self):
        return "\n".join(check_packages.check(self.root))

    def test_a_package_is_named_once_and_in_order(self):
        self.write("packages/build.txt", "cmake # builds\ngcc\n")
        self.write("packages/test.txt", "# none\npython3\n")
        self.assertEqual(self.problems(), "")
        self.write("packages/test.txt", "python3\ngcc\n")
        self.assertIn("gcc is also in packages/build.txt", self.problems())
        self.assertIn("packages/test.txt: not in order", self.problems())

    def test_a_run_file_left_beside_the_sources_does_no_harm(self):
        self.write("packages/build.txt", "cmake\n")
        (self.root / "run.assay").write_bytes(b"SQLite\0\xfb\xff")
        self.assertEqual(self.problems(), "")

    def test_a_name_on_another_system_belongs_to_a_package_of_the_lists(self):
        self.write("packages/build.txt", "gcc\nlibjpeg-dev\npkg-config\n")
        rows = "libjpeg-dev = jpeg-dev\npkg-config pkgconf -\n"
        head = "# names\ndebian-12 debian-13 ubuntu-24.04\n"
        self.write("packages/names.table", head + rows)
        self.assertEqual(self.problems(), "")
        self.write("packages/names.table", head + rows + "cmake = x y\n"
                   "gcc = =\n")
        found = self.problems()
        self.assertIn("packages/names.table: not in order", found)
        self.assertIn("cmake is in no list", found)
        self.assertIn("cmake: 4 columns, not 3", found)
        self.assertIn("gcc is called the same everywhere", found)
        self.write("packages/names.table", rows)
        self.assertIn("must be named ID-VERSION_ID", self.problems())

    def test_only_setup_installs(self):
        self.write("scripts/setup.sh", "apt-get install x\n")
        self.assertEqual(self.problems(), "")
        self.write("docs/a/b.md", "apt install x\n")
        self.assertIn("docs/a/b.md", self.problems())


class Links(Tree):
    def test_a_broken_link_is_found(self):
        self.write("docs/here.md", "[a](../README.md#top) [b](https://x.org)")
        self.write("README.md", "[there](docs/there.md)")
        self.assertEqual(list(check_links.check(self.root)),
                         ["README.md: there is no docs/there.md"])


class Options(unittest.TestCase):
    INDEX = "| [show.md](show.md) | `assay show` | read a run |\n"
    SCREEN = ("  -d, --depth N   levels\n      --all-of-it   hide nothing\n"
              "  -h, --help      this page\n")

    def problems(self, page):
        return list(check_options.check({"README.md": self.INDEX,
                                         "show.md": page},
                                        {"show": self.SCREEN}))

    def test_an_option_is_mentioned_by_its_name_or_its_letter(self):
        self.assertEqual(self.problems("`-d 3` and `--all-of-it`"), [])

    def test_an_option_that_no_page_mentions_is_found(self):
        self.assertEqual(self.problems("`--depth N`, `--all-of-it-now`")[0],
                         "show: none of its pages mentions --all-of-it")

    def test_an_option_that_no_command_has_is_found(self):
        self.assertEqual(self.problems("`--depth`, `--all-of-it`, `--wide`"),
                         ["show.md: no command has --wide"])


class Count(Tree):
    def closing_lines(self, *cases):
        body = "".join(
            f'<testcase name="{name}" status="{status}"><system-out>'
            f'{output}</system-out></testcase>'
            for name, status, output in cases)
        self.write("tests.xml", f"<testsuite>{body}</testsuite>")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = count_tests.main([str(self.root)])
        return code, said.getvalue().strip().splitlines()

    def test_tests_inside_programs_are_counted_one_by_one(self):
        code, lines = self.closing_lines(
            ("a_test", "fail",
             "[       OK ] one\n[ RUN      ] two\nskipped: no data\n"
             "[  SKIPPED ] two\nthree.c:1: no\n[  FAILED  ] three\n"
             "[  PASSED  ] 1 test(s).\n"
             "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] two\n"
             "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] three\n"),
            ("script", "run", "fine"))
        self.assertEqual(lines, ["skipped  a_test.two: no data",
                                 "failed   a_test.three",
                                 "2 passed, 1 failed, 1 skipped"])
        self.assertEqual(code, 1)

    def test_a_program_that_dies_counts_as_a_failure(self):
        code, lines = self.closing_lines(
            ("a_test", "fail", "[       OK ] one\n[ RUN      ] two\n"))
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(code, 1)

    def test_a_skipped_script_gives_its_reason(self):
        code, lines = self.closing_lines(
            ("s", "notrun", "skipped: no torch\n"), ("t", "run", ""))
        self.assertEqual(lines, ["skipped  s: no torch",
                                 "1 passed, 0 failed, 1 skipped"])
        self.assertEqual(code, 0)

    def test_a_program_that_does_not_exist_is_a_failure(self):
        code, lines = self.closing_lines(("gone", "notrun", ""))
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(code, 1)

    def test_running_no_test_is_a_failure(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(count_tests.main([str(self.root)]), 1)
        self.assertEqual(self.closing_lines()[0], 1)

    def test_tests_that_a_processor_cannot_run_are_counted_separately(self):
        code, lines = self.closing_lines(
            ("s", "notrun", "skipped: processor: it has no AVX2\n"),
            ("t", "notrun", "skipped: no data\n"), ("u", "run", ""))
        self.assertEqual(lines[-1], "1 passed, 0 failed, 2 skipped "
                         "(1 of them for this processor)")
        self.assertEqual(code, 0)

    def test_a_run_with_limited_kernels_has_results_of_its_own(self):
        self.closing_lines(("a", "run", ""))
        self.write("tests-avx2.xml", '<testsuite><testcase name="a" '
                   'status="fail"><system-out/></testcase></testsuite>')
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            count_tests.main([str(self.root), f"{self.root}@avx2"])
        self.assertEqual(said.getvalue().strip().splitlines(),
                         [f"failed   {self.root}@avx2: a",
                          "1 passed, 1 failed, 0 skipped"])


class Watch(unittest.TestCase):
    def setUp(self):
        self.watch = watch_tests.Watch(10, 15)

    def test_a_test_is_shown_when_it_ends_not_when_it_begins(self):
        end = "1/2 Test #1: a_test ....   Passed    0.10 sec\n"
        self.assertIsNone(self.watch.take("      Start  1: a_test\n", 0))
        self.assertEqual(self.watch.take(end, 1), end)
        self.assertEqual(self.watch.take("a_test.c:3: no\n", 1),
                         "a_test.c:3: no\n")

    def test_tests_that_take_long_are_named_now_and_then(self):
        self.watch.take("    Start  1: slow_test\n", 100)
        self.watch.take("    Start  2: other_test\n", 108)
        self.assertIsNone(self.watch.report(109))
        self.assertIn("still running: slow_test (11 s)\n",
                      self.watch.report(111))
        self.assertIsNone(self.watch.report(125))
        self.watch.take(" 1/2 Test  #1: slow_test ...***Failed  3 sec\n", 126)
        self.assertIn("still running: other_test (18 s)\n",
                      self.watch.report(126))


@unittest.skipUnless(shutil.which("git"), "git is missing")
class Lint(Tree):
    """lint.sh in a clone, with linters that only print their arguments."""

    def setUp(self):
        super().setUp()
        self.tools = self.root / "tools"
        self.clone = self.root / "clone"
        for name in ("clang-format", "shellcheck"):
            self.write(f"tools/{name}", "#!/bin/sh\n")
        self.write("tools/clang-tidy", "#!/bin/sh\n"
                   "case $* in *--checks=-clang-analyzer*) said=quick;; "
                   "*) said=deep;; esac\n"
                   "case $* in *.c) ;; *) exit 1;; esac\n"
                   "for file in \"$@\"; do\n"
                   "    case $file in *.c) echo \"$said $file\"\n"
                   "        ! grep -q $said \"$file\" || exit 1;; esac\n"
                   "done\n")
        for tool in self.tools.iterdir():
            tool.chmod(0o755)
        self.write("clone/scripts/lint.sh",
                   (ROOT / "scripts/lint.sh").read_text())
        for name in ("a", "b", "c"):
            self.write(f"clone/src/base/{name}.c",
                       f'#include "base/{name}.h"\n')
            self.write(f"clone/src/base/{name}.h", "")
        self.write("clone/src/base/other.c", "quick and deep, not built here\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c",
                        *words], cwd=self.clone, check=True,
                       capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def lint(self, *words, clone=None, **environment):
        clone = clone or self.clone
        (clone / "build").mkdir(exist_ok=True)
        (clone / "build/compile_commands.json").write_text("".join(
            f'  "file": "{clone}/src/base/{name}.c",\n' for name in "abc"))
        environment["PATH"] = f"{self.tools}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "scripts/lint.sh", "build", *words],
                              cwd=clone, env={**os.environ, **environment},
                              text=True, capture_output=True)
        analyzed = sorted(line.split("/")[-1] for line in
                          done.stdout.splitlines() if line.startswith("deep "))
        return done, analyzed

    def test_changed_files_and_users_of_changed_headers_are_analyzed(self):
        self.write("clone/src/base/a.c", "int a;\n")
        self.write("clone/src/base/b.h", "int b;\n")
        self.commit()
        done, analyzed = self.lint("changed")
        self.assertEqual((done.returncode, analyzed), (0, ["a.c", "b.c"]))
        self.assertIn("analyzed 2 of 2 changed files", done.stdout)
        self.assertEqual(done.stdout.count("quick "), 3)
        self.assertEqual(self.lint()[1], ["a.c", "b.c", "c.c"])

    def test_changes_are_counted_from_the_last_commit_that_passed(self):
        base = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True,
                                       cwd=self.clone).strip()
        for name in ("a", "b"):
            self.write(f"clone/src/base/{name}.c", "int x;\n")
            self.commit()
        self.assertEqual(self.lint("changed")[1], ["b.c"])
        self.assertEqual(self.lint("changed", ASSAY_LINT_BASE=base)[1],
                         ["a.c", "b.c"])
        self.write("clone/build/lint.passed", base + "\n")
        self.assertEqual(self.lint("changed")[1], ["a.c", "b.c"])
        self.write("clone/build/lint.passed", "0123456789\n")
        self.assertEqual(self.lint("changed")[1], ["b.c"])

    def test_changed_files_are_analyzed_as_far_as_time_allows(self):
        self.write("clone/src/base/a.c", "int a;\n")
        self.commit()
        done, analyzed = self.lint("changed", ASSAY_LINT_SECONDS="0")
        self.assertEqual((done.returncode, analyzed), (0, []))
        self.assertIn("analyzed 0 of 1 changed files; no time for 1",
                      done.stdout)

    def test_a_clone_without_history_is_not_analyzed(self):
        shallow = self.root / "shallow"
        self.write("clone/src/base/a.c", "int a;\n")
        self.commit()
        self.git("clone", "-q", "--depth", "1", f"file://{self.clone}",
                 str(shallow))
        done, analyzed = self.lint("changed", clone=shallow)
        self.assertEqual((done.returncode, analyzed), (0, []))
        self.assertEqual(done.stdout.count("quick "), 3)
        self.assertIn("nothing is analyzed", done.stderr)

    def test_a_commit_without_sources_has_nothing_to_analyze(self):
        self.write("clone/README.md", "words\n")
        self.commit()
        done, analyzed = self.lint("changed")
        self.assertEqual((done.returncode, analyzed), (0, []), done.stderr)
        self.assertIn("analyzed 0 of 0 changed files", done.stdout)

    def test_a_complaint_is_a_failure(self):
        self.write("clone/src/base/c.c", "deep\n")
        self.commit()
        self.assertEqual(self.lint("changed")[0].returncode, 1)
        self.assertEqual(self.lint()[0].returncode, 1)
        self.write("clone/src/base/b.c", "quick\n")
        self.write("clone/src/base/c.c", "\n")
        self.commit()
        self.write("clone/src/base/a.c", "int a;\n")
        self.commit()
        done, analyzed = self.lint("changed")
        self.assertEqual((done.returncode, analyzed), (1, []))


class Build(Tree):
    """scripts/build.sh with stand-ins for cmake and ninja."""

    def build(self, ninja):
        self.write("bin/cmake", "#!/bin/sh\n")
        self.write("bin/ninja", f"#!/bin/sh\n{ninja}\n")
        for name in ("cmake", "ninja"):
            (self.root / "bin" / name).chmod(0o755)
        environment = dict(os.environ, ASSAY_PROGRESS_SECONDS="0",
                           PATH=f"{self.root}/bin:{os.environ['PATH']}")
        return subprocess.run([ROOT / "scripts/build.sh", self.root / "out"],
                              env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def test_progress_is_shown_in_steps(self):
        done = self.build('echo "@3 of 7@Building a.o"; echo "@7 of 7@b"')
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"building {self.root}/out: 3 of 7\n", done.stdout)
        self.assertRegex(done.stdout, r": 7 of 7, \d+ s\n$")
        self.assertNotIn("Building a.o", done.stdout)

    def test_a_failure_is_shown_and_passed_on(self):
        done = self.build('echo "@3 of 7@cc"; echo "FAILED: a.c"; exit 4')
        self.assertEqual(done.returncode, 4)
        self.assertIn("FAILED: a.c\n", done.stdout)

    def test_nothing_is_printed_when_there_is_nothing_to_do(self):
        done = self.build('echo "ninja: no work to do."')
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
