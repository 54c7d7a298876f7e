"""The peers of gpu-check in Python, on an interpreter without PyTorch, and with ones that are broken: they say so in the
form that gpu-check reads."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "bench" / "gpu"


def scripts(folder):
    """Every peer, with arguments that it takes."""
    return (("attention_peer.py", "12 8192 128"), ("layer_error.py", f"{folder} 12 32760 128"), ("torch_program.py", ""),
            ("nccl_program.py", ""))


class Peers(unittest.TestCase):
    def answer(self, script, *arguments):
        # Without packages of the site, so that none of them is PyTorch.
        run = subprocess.run([sys.executable, "-S", "-I", PEERS / script, *arguments], input="run\n", capture_output=True,
                             text=True, check=True)
        return json.loads(run.stdout)

    def test_a_missing_pytorch_is_named_with_the_interpreter(self):
        with tempfile.TemporaryDirectory() as folder:
            for script, arguments in scripts(folder):
                with self.subTest(script):
                    missing = self.answer(script, *arguments.split())["missing"]
                    self.assertIn(sys.executable, missing)
                    self.assertIn("no PyTorch", missing)

    def test_a_broken_pytorch_is_named(self):
        """When it is imported, and at its first call of CUDA."""
        for text in ("raise OSError('libc10.so: undefined symbol')",
                     "__version__ = '9'\ndef zeros(*_, **__): raise AssertionError('not compiled with CUDA')"):
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "torch.py").write_text(text)
                for script, arguments in scripts(folder):
                    with self.subTest(script=script, text=text):
                        run = subprocess.run([sys.executable, "-S", PEERS / script, *arguments.split()], input="run\n",
                                             capture_output=True, text=True, check=True, env={"PYTHONPATH": folder})
                        self.assertIn(text.split("'")[-2], json.loads(run.stdout)["missing"])


if __name__ == "__main__":
    unittest.main()
