"""Memory of a new process: large tables of zeros, and optimizers that train some of their rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
import os
import sys
from pathlib import Path

import torch

from sklearn_hashnlp.nn._tensors import lazy_zeros
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD


def resident():  # in kB; 0 where there is no /proc
    is_linux = sys.platform == "linux"
    status = Path("/proc/self/status").read_text() if is_linux else "VmRSS: 0 kB"
    lines = status.splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


shared = lazy_zeros((10,))
if hasattr(os, "fork"):
    child = os.fork()
    if not child:
        shared.fill_(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

lazy_zeros((10,))[torch.arange(3)] = 1.0  # whatever torch loads at the first use
rows = torch.arange(0, 10_000_000, 100_000)
before = resident()
large = lazy_zeros((10_000_000, 20), dtype=torch.float32)
large[rows] = 1.0
touched = resident() - before
large[:1_000_000] = 1.0
filled = resident() - before
del large
found = {"sum": shared.sum().item(), "touched": touched, "filled": filled}
found["freed"] = resident() - before


def train(kind, n_rows, rows):
    table = torch.nn.Parameter(lazy_zeros((n_rows, 20), dtype=torch.float32))
    head = torch.nn.Parameter(torch.ones(3))
    optimizer = kind([table, head], average_after=1)
    for _ in range(4):
        optimizer.zero_grad()
        table.grad = torch.sparse_coo_tensor(
            rows[None], torch.ones(len(rows), 20), table.shape, check_invariants=True
        )
        head.grad = torch.ones(3)
        optimizer.step()
    before = table.detach()[rows[0], 0].item()
    assert optimizer.load_average()
    assert table.detach()[rows[0], 0].item() != before
    return table, optimizer


for kind in (RowwiseAdagrad, RowwiseAdam, RowwiseSGD):
    train(kind, 10, torch.arange(3))  # whatever is loaded at the first use
    before = resident()
    trained = train(kind, 1_000_000, torch.arange(0, 1_000_000, 10_000))
    found[kind.__name__] = resident() - before
print(json.dumps(found | {"loads_compiler": "torch._dynamo" in sys.modules}))
"""


@pytest.fixture(scope="module")
def found():
    """Return what a new process reports: memory in kB, and the sum of a table that its child
    filled.
    """
    return json.loads(
        subprocess.check_output([sys.executable, "-c", PROGRAM], cwd=Path(__file__).parents[2])
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_writes_of_a_forked_process_do_not_reach_its_parent(found):
    assert found["sum"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_committed_for_written_rows_and_freed(found):
    # a hundred rows: a page or two each, where huge pages would be 200,000
    assert found["touched"] < 10_000
    assert found["filled"] > 70_000
    assert found["freed"] < 10_000
    for optimizer in ("RowwiseAdagrad", "RowwiseAdam", "RowwiseSGD"):
        assert found[optimizer] < 10_000, optimizer  # of updated rows; a table is 80,000


def test_the_first_optimizer_of_a_process_does_not_import_torchs_compiler(found):
    assert not found["loads_compiler"]
