"""Steps of torch.optim on random gradients, for optimizer_test.c.

usage: make_optimizer_steps.py OUT.pth

Writes, for each case: CASE.start, CASE.STEP.gradient, CASE.STEP.parameter
(after the step), and the state after the last one, CASE.momentum_buffer and
the like. Exits with 77 where there is no torch.
"""
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

STEPS = 5
CASES = {
    "sgd_plain": (torch.optim.SGD, dict(lr=0.1)),
    "sgd_decay": (torch.optim.SGD, dict(lr=0.1, weight_decay=0.05)),
    "sgd_momentum": (torch.optim.SGD,
                     dict(lr=0.02, momentum=0.9, weight_decay=1e-4)),
    "sgd_nesterov": (torch.optim.SGD, dict(lr=0.02, momentum=0.9,
                                           weight_decay=1e-4, nesterov=True)),
    "adamw": (torch.optim.AdamW, dict(lr=1e-3)),
    "adamw_all": (torch.optim.AdamW, dict(lr=0.01, betas=(0.8, 0.95),
                                          eps=1e-3, weight_decay=0.1)),
}
N = 40000  # more than one thread's piece, and no multiple of a vector

torch.manual_seed(5)
out = {}
for name, (make, options) in CASES.items():
    parameter = torch.nn.Parameter(torch.randn(N))
    optimizer = make([parameter], **options)
    out[name + ".start"] = parameter.detach().clone()
    for step in range(STEPS):
        # The rate changes from step to step, as a schedule changes it.
        for group in optimizer.param_groups:
            group["lr"] = options["lr"] * (1 + step) / STEPS
        parameter.grad = torch.randn(N) * 10.0 ** -step
        out["%s.%d.gradient" % (name, step)] = parameter.grad.clone()
        optimizer.step()
        out["%s.%d.parameter" % (name, step)] = parameter.detach().clone()
    for key, value in optimizer.state[parameter].items():
        if key != "step" and value is not None:
            out["%s.%s" % (name, key)] = value.clone()
torch.save(out, sys.argv[1])
