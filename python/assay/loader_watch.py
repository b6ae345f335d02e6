"""DataLoader: the main loop's wait for each batch, and what workers do.

An iteration begins when the loop asks for a batch and ends when it asks for the
next one. Of several loaders in one loop, the first one decides.

Workers are other processes, which do not record. They send the times of a batch
along with it: a `_Batch` is pickled as a call of `_arrive()`, which reports the
times in the main process and returns the batch alone.
"""
import functools
import weakref

from assay import _native


def _arrive(batch, worker, begin_ns, end_ns):
    _native.span_at(f"worker {worker}", "data.fetch", "DataLoader worker",
                    begin_ns, end_ns)
    return batch


class _Batch:
    def __init__(self, *values):
        self.values = values

    def __reduce__(self):
        return _arrive, self.values


def _has_more(iterator):
    """Whether there is another batch; None if that is not known."""
    try:
        return iterator._num_yielded < len(iterator._index_sampler)
    except (AttributeError, TypeError):
        return None


def _is_of_map(iterator):
    from torch.utils.data.dataloader import _DatasetKind
    return getattr(iterator, "_dataset_kind", None) == _DatasetKind.Map


class _Driver:
    """The loader whose batches are the iterations."""

    def __init__(self):
        self.alive = None

    def is_driven_by(self, iterator):
        current = self.alive() if self.alive else None
        if current is None:
            self.alive = weakref.ref(iterator, self._gone)
        return current is None or current is iterator

    def _gone(self, reference):
        """The loop was left early: its last iteration ends here."""
        if self.alive is reference:
            self.release()

    def release(self):
        self.alive = None
        if _native.is_recording():
            _native.iteration(False)


def watch_loaders(patches, in_process=True):
    """in_process: loading by the main loop itself is a wait for data, too."""
    from torch.utils.data import dataloader
    from torch.utils.data._utils import fetch

    driver = _Driver()
    base = dataloader._BaseDataLoaderIter
    original = vars(base)["__next__"]

    def waited(self):
        if not in_process and not getattr(self, "_num_workers", 0):
            return original(self)
        _native.begin("data", "DataLoader")
        try:
            return original(self)
        finally:
            _native.end()

    @functools.wraps(original)
    def following(self):
        if not _native.is_recording():
            return original(self)
        drives = driver.is_driven_by(self)
        more = _has_more(self) if _is_of_map(self) else None
        if drives and more:
            _native.iteration(True)
        elif drives and more is False:
            driver.release()
        try:
            batch = waited(self)
        except StopIteration:
            if drives and more is None:
                driver.release()
            raise
        if drives and more is None:
            _native.iteration(True)
        return batch

    patches.set(base, "__next__", following)
    for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        patches.set(kind, "fetch", _timed_fetch(vars(kind)["fetch"]))


def _timed_fetch(original):
    from torch.utils.data import get_worker_info

    @functools.wraps(original)
    def timed(self, index):
        info = get_worker_info()
        if info is None:
            return original(self, index)
        begin_ns = _native.clock_ns()
        batch = original(self, index)
        return _Batch(batch, info.id, begin_ns, _native.clock_ns())
    return timed
