"""python -m assay train.py ...: records a PyTorch program as it is."""
import argparse
import os
import runpy
import shutil
import subprocess
import sys

DESCRIPTION = """\
Runs a Python program and records what its PyTorch models cost: every module,
forward and backward, the optimizer, the wait for data, and GPU times. The run
file is then shown on one screen; `assay show FILE` shows it again. The
program's own options follow its name."""


def parse(words):
    parser = argparse.ArgumentParser(
        prog="python -m assay", description=DESCRIPTION,
        usage="python -m assay [options] (SCRIPT | -m MODULE) [arguments]",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE", default="run.assay",
                        help="the run file (default: run.assay)")
    parser.add_argument("--warm-up", metavar="N", type=int, default=0,
                        help="iterations at the beginning that do not count")
    parser.add_argument("--no-backward", action="store_true",
                        help="do not time the backward pass by module")
    parser.add_argument("--gpu", action="store_const", const=True,
                        help="time the GPU from the start (default: once the "
                             "program uses it)")
    parser.add_argument("--no-gpu", dest="gpu", action="store_const",
                        const=False, help="time the host alone")
    parser.add_argument("--kernels", action="store_true",
                        help="time all iterations of the GPU, and every "
                             "kernel by its name")
    parser.add_argument("--quiet", action="store_true",
                        help="write the run file, show nothing")
    parser.add_argument("-m", dest="module", metavar="MODULE",
                        help="run a module instead of a script")
    own, rest = _split(words)
    options = parser.parse_args(own)
    if options.warm_up < 0:
        parser.error("--warm-up needs a number that is not negative")
    if not options.module and not rest:
        parser.error("missing a script to run")
    return options, rest


def _split(words):
    """Our options, and the program with its arguments."""
    takes_value = {"-o", "--output", "--warm-up"}
    i = 0
    while i < len(words) and words[i].startswith("-"):
        if words[i] == "-m":
            return words[:i + 2], words[i + 2:]
        if words[i] == "--":
            return words[:i], words[i + 1:]
        i += 2 if words[i] in takes_value else 1
    return words[:i], words[i:]


def find_program():
    """The program `assay`: that of the environment, or on the path."""
    own = os.path.join(sys.prefix, "bin", "assay")
    return own if os.access(own, os.X_OK) else shutil.which("assay")


def show(path, is_quiet):
    """Adds the machine's peaks, as `assay record` does, and shows the run."""
    program = find_program()
    if program is not None:
        subprocess.run([program, "machine", "--add-to", path], check=False,
                       stderr=subprocess.DEVNULL)
    if is_quiet:
        return
    if program is None:
        print(f"wrote {path}; the program `assay`, which shows it, is not on "
              "the path", file=sys.stderr)
        return
    print(flush=True)
    subprocess.run([program, "show", path], check=False)


def run(options, rest):
    if options.module:
        sys.argv = [options.module, *rest]
        sys.path[0] = os.getcwd()
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = rest
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")


def main():
    options, rest = parse(sys.argv[1:])
    if not options.module and not os.path.exists(rest[0]):
        sys.exit(_say(f"cannot read {rest[0]}: there is no such file"))
    from assay.launch import finish
    from assay.record import Recording
    recording = Recording(options.output, warm_up=options.warm_up,
                          backward=not options.no_backward,
                          device=options.gpu, kernels=options.kernels,
                          program=os.path.basename(options.module or rest[0]))
    try:
        recording.start()
    except (ImportError, OSError, RuntimeError) as error:
        sys.exit(_say(str(error)))
    try:
        run(options, rest)
    finally:
        if finish(recording):
            show(recording.path, options.quiet)


def _say(text):
    print(f"assay: {text}", file=sys.stderr)
    return 3


if __name__ == "__main__":
    main()
