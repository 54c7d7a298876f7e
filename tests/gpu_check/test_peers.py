"""The peers of gpu-check in Python, on an interpreter without PyTorch, and with ones that are broken: they say so in the
form that gpu-check reads."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "bench" / "gpu"


# What stands for torch.py (none: there is no PyTorch), and what is said of it.
CASES = ((None, "no PyTorch"), ("raise OSError('libc10.so: undefined symbol')", "undefined symbol"),
         ("__version__ = '9'\ndef zeros(*_, **__): raise AssertionError('not compiled with CUDA')", "not compiled with CUDA"))


class Peers(unittest.TestCase):
    def test_a_missing_or_broken_pytorch_is_named(self):
        for torch, words in CASES:
            with tempfile.TemporaryDirectory() as folder:
                if torch is not None:
                    (Path(folder) / "torch.py").write_text(torch)
                for peer in ("attention_peer.py 12 8192 128", "attention_peer.py 12 8192 128 64 mask", f"layer_error.py {folder} 12 32760 128", "torch_program.py",
                             "nccl_program.py"):
                    with self.subTest(peer=peer, torch=torch):
                        script, *arguments = peer.split()
                        # Without packages of the site, so that none of them is PyTorch.
                        run = subprocess.run([sys.executable, "-S", PEERS / script, *arguments], input="run\n", text=True,
                                             capture_output=True, check=True, env={"PYTHONPATH": folder})
                        missing = json.loads(run.stdout)["missing"]
                        self.assertIn(words, missing)
                        self.assertTrue(torch is not None or sys.executable in missing, missing)


if __name__ == "__main__":
    unittest.main()
