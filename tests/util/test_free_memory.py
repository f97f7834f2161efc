"""What the system says of the memory that is free."""

import resource
import subprocess
import sys

import pytest

from compsil_kit._util import memory

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A /proc and a /sys/fs/cgroup of our own; 8 GiB are free on the machine."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    monkeypatch.setattr(memory, "PROC", proc)
    monkeypatch.setattr(memory, "CGROUP", groups)
    return proc, groups


def limit(folder, most, used, cached=0, version=2):
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    (folder / names[0]).write_text(f"{most}\n")
    (folder / names[1]).write_text(f"{used}\n")
    name = "inactive_file" if version == 2 else "total_inactive_file"
    (folder / "memory.stat").write_text(f"anon 5\n{name} {cached}\n")


def test_without_limits_the_machine_decides(system):
    assert memory.available_bytes() == 8 * GIB


def test_version_2_with_the_groups_around(system):
    proc, groups = system
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    limit(groups / "outer" / "inner", "max", GIB)
    assert memory.available_bytes() == 8 * GIB
    limit(groups / "outer", 4 * GIB, 3 * GIB, cached=GIB // 2)
    assert memory.available_bytes() == 1.5 * GIB
    limit(groups / "outer" / "inner", 2 * GIB, 1.25 * GIB)
    assert memory.available_bytes() == 1.5 * GIB  # 1.25 as text is no whole number: that limit cannot be read
    limit(groups / "outer" / "inner", 2 * GIB, GIB)
    assert memory.available_bytes() == GIB


def test_version_1(system):
    proc, groups = system
    (proc / "self" / "cgroup").write_text("4:cpu,cpuacct:/a\n3:memory:/docker/x\n")
    limit(groups / "memory" / "docker" / "x", 9223372036854771712, GIB, version=1)
    assert memory.available_bytes() == 8 * GIB
    limit(groups / "memory" / "docker" / "x", 3 * GIB, GIB, cached=GIB, version=1)
    assert memory.available_bytes() == 3 * GIB


def test_a_group_that_is_full_leaves_nothing(system):
    proc, groups = system
    (proc / "self" / "cgroup").write_text("0::/\n")
    limit(groups, GIB, 2 * GIB)
    assert memory.available_bytes() == 0


def test_a_limit_of_the_process_counts():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))\n"
        "from compsil_kit._util.memory import available_bytes; print(available_bytes())"
    )
    free = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0 < free < 6 * GIB
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
