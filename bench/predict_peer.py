"""scikit-learn's side of the benchmark of forests.

    predict_peer.py FOLDER PHOTOGRAPH

Says "ready", and then, for each line "NAME THREADS" of its input, fits
ExtraTreesRegressor to the rows of FOLDER/NAME and predicts those behind them,
answering with a line: seconds of the fit, mean relative error in millionths. A
file is doubles: rows to fit, rows to predict, features, then the rows, and then
the logarithms they should give. Exits with 77 where there is no scikit-learn.
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
