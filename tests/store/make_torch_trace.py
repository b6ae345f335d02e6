"""Profiles a small network with PyTorch and writes, into the folder given, a
trace and the table that PyTorch itself makes of it, for both of its profilers.
Exits with 77 where there is no PyTorch.
"""
import os
import sys

try:
    import torch
    import torch.profiler
except ImportError:
    sys.exit(77)


def detached(events):
    """How far off each name's self time may be, in us.

    Start and duration are cut to whole microseconds one by one, so a child
    may seem to end after its parent. PyTorch's table then takes it for a
    sibling: its time is missing from the self time of what is above and shows
    up as the parent's own. And of two that lie on the same microseconds either
    may be taken for the one around the other.
    """
    slack = {}
    for child in events:
        start, end = child.time_range.start, child.time_range.end
        around = [event for event in events if event.thread == child.thread
                  and event.time_range.start <= start < event.time_range.end
                  and event is not child]
        twins = [event for event in around
                 if (event.time_range.start, event.time_range.end)
                 == (start, end)]
        for event in twins:
            slack[event.key] = slack.get(event.key, 0) + end - start
        if any(event.time_range.end < end for event in around):
            for event in around:
                slack[event.key] = slack.get(event.key, 0) + end - start
    return slack


def write_table(profiler, events, path):
    slack = detached(events)
    with open(path, "w") as table:
        for row in profiler.key_averages():
            table.write("%s\t%d\t%.3f\t%.3f\t%.3f\n" % (
                row.key, row.count, row.cpu_time_total,
                row.self_cpu_time_total, slack.get(row.key, 0)))


def main(folder):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    image = torch.rand(2, 3, 16, 16)

    def step():
        optimizer.zero_grad()
        # Of some dimensions: a sum of all is an op inside of one of the same
        # name, which the tables of later versions count as one.
        net(image).sum((0, 1)).backward()
        optimizer.step()

    plan = torch.profiler.schedule(wait=1, warmup=1, active=4)
    with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=plan) as profiler:
        for _ in range(6):
            step()
            profiler.step()
    profiler.export_chrome_trace(os.path.join(folder, "profiler.json"))
    write_table(profiler, profiler.events(),
                os.path.join(folder, "profiler.tsv"))

    with torch.autograd.profiler.profile() as profiler:
        for _ in range(3):
            step()
    profiler.export_chrome_trace(os.path.join(folder, "autograd.json"))
    write_table(profiler, profiler.function_events,
                os.path.join(folder, "autograd.tsv"))


main(sys.argv[1])
