"""ONNX Runtime's side of the benchmark of quantised models.

    int8_peer.py FOLDER PHOTOGRAPH

Quantises a model, which FOLDER/source.onnx is, in three ways into FOLDER, with
random values for the calibration. Prints "ready". Then runs the model that each
line of its input names, of these or of others in FOLDER, once and answers with
a line: seconds, elements of the first output. Exits with 77 if onnxruntime is
missing.
"""
import logging
import os
import sys
import time

# onnxruntime imports a module of the name of one in this folder.
sys.path.pop(0)
try:
    import numpy
    import onnxruntime
    from onnxruntime import quantization
except ImportError:
    sys.exit(77)

THREADS = int(os.environ.get("ASSAY_BENCH_THREADS", 2))
SESSIONS = {}


class Images(quantization.CalibrationDataReader):
    def __init__(self, feed):
        self.feeds = iter([feed])

    def get_next(self):
        return next(self.feeds, None)


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])


def feed_of(session):
    values = numpy.random.default_rng(0)
    return {
        of.name: values.random(
            [n if isinstance(n, int) else 1 for n in of.shape], numpy.float32)
        for of in session.get_inputs()
    }


def quantise(folder):
    source = folder + "/source.onnx"
    feed = feed_of(open_session(source))
    quantization.quantize_dynamic(
        source, folder + "/dynamic.onnx",
        weight_type=quantization.QuantType.QUInt8)
    for name, per_channel in (("qdq", False), ("qdq_per_channel", True)):
        quantization.quantize_static(
            source, "%s/%s.onnx" % (folder, name), Images(feed),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=per_channel)


def main(folder):
    quantise(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        name = line.strip()
        if name not in SESSIONS:
            session = open_session("%s/%s.onnx" % (folder, name))
            SESSIONS[name] = session, feed_of(session)
        session, feed = SESSIONS[name]
        since = time.perf_counter()
        outputs = session.run(None, feed)
        print(time.perf_counter() - since, outputs[0].size, flush=True)


logging.disable(logging.WARNING)
main(sys.argv[1])
