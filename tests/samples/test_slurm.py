"""samples/slurm/spscope.sbatch on a cluster of one node that this test starts: slurmctld, slurmd and munge of its own, on
ports and in folders of its own. Skipped (77) where they are not installed or may not be started.

Usage: test_slurm.py PROGRAM SOURCE_DIR
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SCRIPT = SOURCE / "samples/slurm/spscope.sbatch"
SKIPPED = 77
SMALL = ["--set", "model.grid=3,6,7", "--set", "model.heads=4", "--set", "model.head_dim=8", "--set", "mask.block=16",
         "--set", "cluster.ranks=2", "--set", "run.strategies=ring", "--set", "run.warmup=0"]


class Skip(Exception):
    """Why nothing can be tested here."""


def wait_for(holds, seconds, failure):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise failure
        time.sleep(0.2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """Daemons that end with the block."""

    def __init__(self, folder):
        self.folder = folder
        self.scratch = folder / "scratch"  # of the jobs; goes with the folder, however they end
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "SPSCOPE": str(PROGRAM),
                            "SLURM_TMPDIR": str(self.scratch)}
        self.processes = []

    def __enter__(self):
        for tool in ("munged", "slurmctld", "slurmd", "sbatch", "srun"):
            if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin") is None:
                raise Skip(f"{tool} is not installed (packages slurmctld slurmd slurm-client munge)")
        if os.geteuid() != 0:
            raise Skip("slurmd starts steps for users only as root")
        self.configure()
        munge = self.folder / "munge"
        self.start(["munged", "--foreground", "--force", f"--socket={munge}/socket", f"--key-file={munge}/key",
                    f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed"])
        wait_for((munge / "socket").exists, 20, Skip("munged did not start here"))
        self.start(["slurmctld", "-D", "-f", self.folder / "slurm.conf"])
        self.start(["slurmd", "-D", "-f", self.folder / "slurm.conf"])
        wait_for(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), 20, Skip("no node started here"))
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()

    def configure(self):
        (self.folder / "munge").mkdir(mode=0o755)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for name in ("state", "spool", "scratch"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        lines = {"ClusterName": "spscope", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmUser": "root",
                 "AuthType": "auth/munge", "AuthInfo": f"socket={self.folder}/munge/socket",
                 "SlurmctldPort": free_port(), "SlurmdPort": free_port(), "StateSaveLocation": self.folder / "state",
                 "SlurmdSpoolDir": self.folder / "spool", "SlurmctldPidFile": self.folder / "slurmctld.pid",
                 "SlurmdPidFile": self.folder / "slurmd.pid", "ProctrackType": "proctrack/linuxproc",
                 "TaskPlugin": "task/none", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core",
                 "ReturnToService": 2, "PartitionName": "all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"}
        node = f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN"
        text = [f"{key}={value}" for key, value in lines.items()]
        (self.folder / "slurm.conf").write_text("\n".join(text[:-1] + [node, text[-1]]) + "\n", encoding="utf-8")

    def start(self, command):
        with open(self.folder / f"{command[0]}.log", "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(command, env={**self.environment, "PATH": os.environ["PATH"] +
                                                                 ":/usr/sbin"}, stdout=log, stderr=log))

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def submit(self, out, *more):
        log = self.folder / f"{out.stem}.log"
        text = self.ask("sbatch", "--parsable", "--nodes=1", "--ntasks-per-node=2", "--overcommit", f"--output={log}",
                        str(SCRIPT), str(self.folder / "run.toml"), str(out), *SMALL, *more)
        return text.strip(), log

    def finish(self, job, out, log):
        """How many layer passes its file has."""
        wait_for(lambda: not self.ask("squeue", "-h", "-j", job).strip(), 90, AssertionError(f"job {job} did not end"))
        assert out.exists() and not Path(f"{out}.collecting").exists(), log.read_text(encoding="utf-8")
        assert not list(self.scratch.glob("spscope-*")), "files are left in the scratch folder"
        return int(said("sql", out, "SELECT count(*) AS n FROM run", "--csv").split()[1])


def said(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def whole_run(cluster):
    out = cluster.folder / "whole.db"
    job, log = cluster.submit(out)
    assert job, "sbatch refused the script"
    assert cluster.finish(job, out, log) == 1
    print("a run of 2 tasks was merged")


def stopped(cluster, name, what, *scancel):
    out = cluster.folder / f"{name}.db"
    job, log = cluster.submit(out, "--set", "run.denoise_steps=5000", "--set", "run.repeats=1")
    wait_for(lambda: Path(f"{out}.collecting").exists() or out.exists(), 20, AssertionError("the run did not start"))
    time.sleep(1)
    cluster.ask("scancel", *scancel, job)
    kept = cluster.finish(job, out, log)
    assert 0 < kept < 5000, f"{kept} denoise steps"
    print(f"{what} kept {kept} of 5000 denoise steps")


def has_mpi():
    return "--launcher" in said("run", "--help") and "mpi" in said("doctor", "--json").lower()


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not has_mpi():
        raise Skip("this spscope was built without MPI")
    with tempfile.TemporaryDirectory(prefix="spscope-slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "run.toml").write_text("", encoding="utf-8")
        with Cluster(folder) as cluster:
            if "pmix" not in cluster.ask("srun", "--mpi=list") + cluster.ask("sh", "-c", "srun --mpi=list 2>&1"):
                raise Skip("this Slurm has no PMIx")
            whole_run(cluster)
            stopped(cluster, "signalled", "SIGUSR1 to the script", "--batch", "--signal=USR1")
            stopped(cluster, "cancelled", "scancel, SIGTERM to all")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
