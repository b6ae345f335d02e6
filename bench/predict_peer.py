"""scikit-learn's side of the forest benchmark.

    predict_peer.py FOLDER PHOTOGRAPH

Prints "ready". Then, for each line "NAME THREADS" of its input, fits
ExtraTreesRegressor to the first rows of FOLDER/NAME, predicts the others and
answers with a line: seconds of the fit, mean relative error in millionths. A
file consists of doubles: rows to fit, rows to predict, features, then the rows,
and then the logarithms to predict. Exits with 77 if scikit-learn is missing.
"""
import os
import sys
import time

try:
    import numpy
    from sklearn.ensemble import ExtraTreesRegressor
except ImportError:
    sys.exit(77)

TREES = 300


def read(path):
    numbers = numpy.fromfile(path)
    n_fit, n_rest, n_features = (int(x) for x in numbers[:3])
    n = n_fit + n_rest
    x = numbers[3:3 + n * n_features].reshape(n, n_features)
    y = numbers[3 + n * n_features:]
    return n_fit, x, y


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        name, threads = line.split()
        n_fit, x, y = read(os.path.join(sys.argv[1], name))
        forest = ExtraTreesRegressor(TREES, n_jobs=int(threads),
                                     random_state=0)
        since = time.perf_counter()
        forest.fit(x[:n_fit], y[:n_fit])
        seconds = time.perf_counter() - since
        error = numpy.exp(forest.predict(x[n_fit:]) - y[n_fit:]) - 1
        print(seconds, round(1e6 * numpy.abs(error).mean()), flush=True)


main()
