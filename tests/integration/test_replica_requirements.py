"""What Serve gets to hear where a node lacks what replicas import. Ray is imported here, not started."""

from __future__ import annotations

import subprocess
import sys


def test_a_node_that_lacks_a_distribution_says_so() -> None:
    code = "import sys; sys.modules['obstore'] = None; from roost.replica.builder import build; build({})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "roost.errors.ModelDeployFailed: The Python of this node lacks obstore, which every replica needs. "
        'Put them into the image of the nodes: pip install "roost[server]".'
    )
