"""The optimiser against torch's own, and why it is there."""

import subprocess
import sys

import torch

from seedmem.learn.optimiser import AdamW


def test_it_moves_weights_as_the_one_of_torch():
    start = torch.linspace(-1, 1, 12).reshape(3, 4)
    own, other = (torch.nn.Parameter(start.clone()) for _ in range(2))
    ours = AdamW([own], rate=0.01, decay=0.1)
    theirs = torch.optim.AdamW([other], lr=0.01, weight_decay=0.1)

    for _ in range(20):
        for weight in (own, other):
            weight.pow(3).sum().backward()
        ours.step()
        theirs.step()
        theirs.zero_grad()

    assert torch.allclose(own, other, atol=1e-6)
    assert own.grad is None


def test_a_weight_without_a_gradient_stays():
    weight = torch.nn.Parameter(torch.ones(2))

    AdamW([weight], rate=0.1, decay=0.1).step()

    assert weight.tolist() == [1.0, 1.0]


def test_a_step_does_not_load_torchs_compiler():
    step = "AdamW([w], rate=0.1, decay=0.0).step()"
    script = (
        "import sys, torch; from seedmem.learn.optimiser import AdamW;"
        f"w = torch.nn.Parameter(torch.ones(2)); w.grad = torch.ones(2); {step};"
        "print('torch._dynamo' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
