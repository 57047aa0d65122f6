# SPDX-License-Identifier: Apache-2.0
"""
The installed belljar on other kernels: what works where, and what each host that cannot give a
layer is told. Rows are data; all the rows of one machine are run in one boot of it.
"""
import dataclasses
import json
import os
import pathlib
import re

import pytest

import vm

HERE = pathlib.Path(__file__).resolve().parent
STAGE = pathlib.Path(os.environ.get("BELLJAR_STAGE", vm.REPO / "build" / "stage")).resolve()
BELLJAR = STAGE / "bin" / "belljar"
SAYS_42 = ["/bin/sh", "-c", "echo $((6 * 7))"]

MACHINES = {
    "6.1": {"kernel": "6.1"},
    "6.12": {"kernel": "6.12"},
    "v1": {"kernel": "6.1", "cgroup": "v1"},
    # 6.12 is built without the memory controller of v1.
    "hybrid": {"kernel": "6.1", "cgroup": "hybrid"},
    "no cgroups": {"kernel": "6.1", "cgroup": "none"},
    "systemd 6.1": {"kernel": "6.1", "init": "systemd"},
    "systemd 6.12": {"kernel": "6.12", "init": "systemd"},
    "no user namespaces": {"kernel": "6.12", "sysctl": ["user.max_user_namespaces=0"]},
    "user namespaces for root": {"kernel": "6.1", "sysctl": ["kernel.unprivileged_userns_clone=0"]},
    "no landlock": {"kernel": "6.1", "cmdline": "lsm=lockdown,yama,apparmor"},
    "yama 1": {"kernel": "6.1", "sysctl": ["kernel.yama.ptrace_scope=1"]},
    "yama 2": {"kernel": "6.12", "sysctl": ["kernel.yama.ptrace_scope=2"]},
    "yama 3": {"kernel": "6.12", "sysctl": ["kernel.yama.ptrace_scope=3"]},
    "masked proc": {"kernel": "6.1", "setup": "mount --bind /dev/null /proc/timer_list"},
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One command on one machine, and what must come of it."""

    machine: str
    who: str
    deny: str = ""  # SYSCALL=ERRNO …
    accept: str = ""  # layers that a policy file accepts as missing
    there: bool = False  # this host has them after all: then they are put up
    options: str = ""  # more options of `belljar run`
    layer: str = ""  # at fault; "": it works
    outcome: str = "refused"
    says: str = ""  # in the error's message
    mend: str = ""  # in its hint

    def name(self):
        accepted = self.accept and f"{self.accept} may be missing"
        words = [self.machine, self.who, self.deny, accepted, self.options]
        return ", ".join(word for word in words if word)


WORKS = [
    Row("6.1", "root"),
    Row("6.1", "user-cgroup"),
    Row("6.1", "user", accept="cgroup"),
    Row("6.1", "root", accept="cgroup landlock", there=True),
    Row("6.12", "root"),
    Row("6.12", "user-cgroup"),
    Row("6.12", "user", accept="cgroup"),
    Row("v1", "root"),
    Row("hybrid", "root"),
    Row("no cgroups", "root", accept="cgroup"),
    Row("no cgroups", "user", accept="cgroup"),
    Row("systemd 6.1", "root"),
    Row("systemd 6.1", "user-scope"),
    Row("systemd 6.12", "root"),
    Row("systemd 6.12", "user-scope"),
    Row("user namespaces for root", "root"),
    Row("no landlock", "root", accept="landlock"),
    Row("no landlock", "user-cgroup", accept="landlock"),
    Row("yama 1", "user-cgroup"),
    Row("yama 2", "root"),
    # The control of all rows with refused calls: a filter around Belljar is no hindrance itself.
    Row("6.1", "root", deny="swapon=EPERM"),
    Row("6.1", "user-cgroup", deny="swapon=EPERM"),
]

# Where the host is asked beforehand the run is refused; where set-up finds out, it is an error.
ERROR = "sandbox_error"
REFUSED = [
    Row("6.1", "user", layer="cgroup", mend="cgroup"),
    Row("v1", "user", layer="cgroup", says="cgroup v1 can be used by root only"),
    Row("no cgroups", "root", layer="cgroup", says="no cgroup file system is mounted"),
    Row("systemd 6.1", "user", layer="cgroup", mend="systemd-run --user --scope -p Delegate=yes"),
    Row("no user namespaces", "root", layer="user", outcome=ERROR,
        says="No space left", mend="user.max_user_namespaces"),
    Row("no user namespaces", "user-cgroup", layer="user", outcome=ERROR,
        says="No space left", mend="user.max_user_namespaces"),
    Row("user namespaces for root", "user-cgroup", layer="user", outcome=ERROR,
        says="not permitted", mend="kernel.unprivileged_userns_clone=1"),
    Row("no landlock", "root", layer="landlock", says="this kernel has none", mend="lsm="),
    Row("no landlock", "user-cgroup", layer="landlock", says="this kernel has none", mend="lsm="),
    Row("yama 3", "root", layer="init", outcome=ERROR, says="not permitted", mend="ptrace_scope"),
    Row("yama 3", "user-cgroup", layer="init", outcome=ERROR,
        says="not permitted", mend="ptrace_scope"),
    Row("masked proc", "root", layer="mount", outcome=ERROR,
        says="fresh proc: Operation not permitted", mend="/proc"),
    Row("masked proc", "user-cgroup", layer="mount", outcome=ERROR,
        says="fresh proc: Operation not permitted", mend="/proc"),
    Row("6.1", "root", deny="ptrace=EPERM", layer="init", outcome=ERROR, says="not permitted"),
    Row("6.1", "user-cgroup", deny="ptrace=EPERM", layer="init", outcome=ERROR,
        says="not permitted"),
    Row("6.1", "root", deny="close_range=ENOSYS", layer="fds", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "user-cgroup", deny="close_range=ENOSYS", layer="fds", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="clone3=ENOSYS", layer="user", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "user-cgroup", deny="clone3=ENOSYS", layer="user", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="pidfd_send_signal=ENOSYS", layer="deadline", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="openat2=ENOSYS", options="--in /etc/hostname", layer="mount",
        outcome=ERROR, says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="mount_setattr=ENOSYS", layer="mount", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="timerfd_create=ENOSYS", layer="deadline", outcome=ERROR,
        says="not implemented", mend="Linux 5.15"),
    Row("6.1", "root", deny="landlock_create_ruleset=ENOSYS", layer="landlock",
        says="this kernel has none"),
    Row("6.1", "root", deny="seccomp=ENOSYS", layer="seccomp", outcome=ERROR,
        says="not implemented"),
    *[Row("6.1", "root", deny=f"{call}=EPERM", layer=layer, outcome=ERROR, says="not permitted")
      for call, layer in (("mount", "mount"), ("pivot_root", "mount"), ("umount2", "mount"),
                          ("unshare", "cgroupns"), ("keyctl", "ipc"), ("sethostname", "uts"),
                          ("setsid", "terminal"), ("capset", "init"), ("setgroups", "user"),
                          ("landlock_restrict_self", "landlock"))],
]


def policy_file(row):
    """Each set of accepted layers has a file; machines see the checkout."""
    place = vm.CACHE / "policies"
    place.mkdir(parents=True, exist_ok=True)
    path = place / (row.accept + ".json")
    path.write_text(json.dumps({"accept_missing": row.accept.split()}))
    return path


def command(row, deny, verb):
    argv = [str(deny), *row.deny.split(), "--"] if row.deny else []
    argv += [str(BELLJAR), *verb, "--json"]
    if row.accept:
        argv += ["--policy", str(policy_file(row))]
    argv += row.options.split()
    if verb == ["run"]:
        argv += ["--", *SAYS_42]
    return {"who": row.who, "argv": argv}


class Machines:
    """Boots each machine once, with all its rows, when its first row is asked for."""

    def __init__(self, deny):
        self.deny = deny
        self.answers = {}

    def asked(self, machine):
        rows = [row for row in WORKS + REFUSED if row.machine == machine]
        questions = {row: command(row, self.deny, ["run"]) for row in rows}
        doctors = dict.fromkeys((row.machine, row.who) for row in rows)
        for _, who in doctors:
            questions[machine, who] = command(Row(machine, who), self.deny, ["doctor"])
        for row in [row for row in deep_rows() if row.machine == machine]:
            questions[machine, row.who, "deep"] = command(row, self.deny, ["doctor", "--deep"])
        return questions

    def answer(self, boot, machine, key):
        if machine not in self.answers:
            questions = self.asked(machine)
            argv = ["/usr/bin/python3", HERE / "driver.py", json.dumps(list(questions.values()))]
            outcome = boot(argv, share=[str(STAGE)], timeout_s=1200, **MACHINES[machine])
            assert outcome.status == 0, outcome
            self.answers[machine] = dict(zip(questions, json.loads(outcome.stdout)))
        return self.answers[machine][key]


@pytest.fixture(scope="session")
def machines(deny):
    assert BELLJAR.exists(), f"{BELLJAR} is not there; build and install first"
    return Machines(deny)


def result_of(answer):
    try:
        return json.loads(answer["stdout"])
    except ValueError:
        raise AssertionError(f"no JSON object: {answer}") from None


@pytest.mark.parametrize("row", WORKS, ids=Row.name)
def test_it_runs_with_every_layer_proven(boot, machines, row):
    answer = machines.answer(boot, row.machine, row)
    result = result_of(answer)
    assert (answer["status"], result["outcome"], result["exit_code"]) == (0, "exited", 0), answer
    assert result["stdout"]["text"] == "42\n"
    accepted = set() if row.there else set(row.accept.split())
    missing = {layer["name"] for layer in result["layers"] if layer["state"] != "proven"}
    assert missing == accepted
    assert {layer["state"] for layer in result["layers"]} <= {"proven", "accepted_missing"}
    assert result["usage"]["by"] == ("monitor" if "cgroup" in accepted else "cgroup")
    assert not any(result["left_behind"].values())
    assert answer["left"] == {}


@pytest.mark.parametrize("row", REFUSED, ids=Row.name)
def test_a_refusal_names_its_layer_and_nothing_ran(boot, machines, row):
    answer = machines.answer(boot, row.machine, row)
    result = result_of(answer)
    assert (answer["status"], result["outcome"], result["started"]) == (125, row.outcome, False), \
        answer
    assert result["error"]["layer"] == row.layer, result
    assert re.search(row.says, result["error"]["message"]), result
    assert re.search(row.mend, result["error"]["hint"]), result
    assert result["hint"] and "\n" not in result["hint"]
    assert result["retry"] != "same", "it will be the same again"
    assert result["stdout"]["bytes"] == 0
    assert answer["left"] == {}


@pytest.mark.parametrize(("kernel", "abi"), [("6.1", 2), ("6.12", 6)])
def test_the_landlock_row_shows_the_abi(boot, machines, kernel, abi):
    result = result_of(machines.answer(boot, kernel, Row(kernel, "root")))
    (note,) = [layer["note"] for layer in result["layers"] if layer["name"] == "landlock"]
    assert re.search(rf"\bABI {abi}\b", note)


def plain(rows):
    """Machine and who, where nothing is refused by a filter or accepted."""
    return [row for row in rows if not row.deny and not row.accept]


@pytest.mark.parametrize("row", plain(WORKS), ids=Row.name)
def test_doctor_proves_every_layer(boot, machines, row):
    answer = machines.answer(boot, row.machine, (row.machine, row.who))
    report = result_of(answer)
    assert (answer["status"], report["proven"]) == (0, True), answer
    states = {layer["name"]: layer["state"] for layer in report["layers"]}
    assert states.pop("monitor") == "not_needed"
    assert set(states.values()) == {"proven"}
    assert answer["left"] == {}


def deep_rows():
    return [row for row in plain(WORKS) if row.machine in ("6.1", "6.12")]


# What such a machine has nothing for; all else is tried.
YOUNG = {"pid_proc", "pid_pidfd", "pid_ask"}  # its pids are so low that they are in use inside too
NOT_TRIED = {"6.1": YOUNG | {"landlock_signal"},  # that needs Landlock's ABI 6
             "6.12": YOUNG}


@pytest.mark.parametrize("row", deep_rows(), ids=Row.name)
def test_every_deep_check_comes_to_what_its_row_says(boot, machines, row):
    answer = machines.answer(boot, row.machine, (row.machine, row.who, "deep"))
    report = result_of(answer)
    assert report["deep"]["error"] is None, report["deep"]
    states = {check["id"]: check["state"] for check in report["deep"]["checks"]}
    assert {name for name, state in states.items() if state == "failed"} == set(), report["deep"]
    not_tried = {name for name, state in states.items() if state == "not_tried"}
    assert not_tried <= NOT_TRIED[row.machine] | {"mount_home"}  # a user's that is not there
    assert len(states) - len(not_tried) > 120
    assert (answer["status"], report["proven"], answer["left"]) == (0, True, {}), report["layers"]


@pytest.mark.parametrize("row", plain(REFUSED), ids=Row.name)
def test_doctor_finds_the_layer_and_says_what_to_do(boot, machines, row):
    answer = machines.answer(boot, row.machine, (row.machine, row.who))
    report = result_of(answer)
    assert (answer["status"], report["proven"]) == (1, False), answer
    layers = {layer["name"]: layer for layer in report["layers"]}
    assert layers[row.layer]["state"] == "failed"
    assert all(mend["where"] and mend["do"] for mend in layers[row.layer]["mend"])
    assert layers[row.layer]["mend"], layers[row.layer]
    if row.layer in ("cgroup", "landlock"):
        # The others can still be proven, and are.
        states = {layer["state"] for name, layer in layers.items() if name != row.layer}
        assert states <= {"proven", "not_needed"}
    assert answer["left"] == {}
