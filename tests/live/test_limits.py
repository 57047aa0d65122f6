# SPDX-License-Identifier: Apache-2.0
"""Time, CPU and memory: what is given is what can be used, by all tasks together."""

import pytest

import harness

attack = pytest.mark.attack


# ---- Time and CPU --------------------------------------------------------------------------------


@attack("E01")
def test_a_loop_ends(bell):
    got = bell.python("while True: pass", "--time", "500ms")
    assert (got.outcome, got.limits_hit) == ("time_limit", ["time"])


@attack("E02")
def test_the_cpu_time_of_all_children_counts(bell):
    code = ("import os\n"
            "for _ in range(4):\n"
            "    if os.fork() == 0:\n"
            "        while True: pass\n"
            "while True: os.wait()\n")
    got = bell.python(code, "--cpu-time", "600ms", "--time", "50s", "--cpus", "1")
    assert (got.outcome, got.limits_hit) == ("cpu_limit", ["cpu"])
    assert got.usage["cpu_ms"] >= 500


@attack("E03")
def test_the_cpu_time_of_orphans_counts(bell):
    got = bell.inside("burners", 3, ",", "pause", options=["--cpu-time", "500ms", "--time", "50s"])
    assert (got.outcome, got.limits_hit) == ("cpu_limit", ["cpu"])
    assert got.usage["cpu_ms"] >= 500, "what the orphans used, not what the first process did"


@attack("E04")
@pytest.mark.parametrize("words", [("/bin/sleep", "3600"), ("/bin/cat", "/workspace/fifo"),
                                   ("/bin/sh", "-c", "mkfifo /tmp/f; cat /tmp/f"),
                                   ("/bin/sh", "-c", "read x < /dev/zero")])
def test_waiting_ends_too(bell, words):
    if words[0] == "/bin/cat":
        words = ("/bin/sh", "-c", "mkfifo fifo; exec cat fifo")
    got = bell.run("--time", "300ms", "--cpu-time", "300ms", "--", *words)
    assert got.outcome in ("time_limit", "cpu_limit"), got
    if "zero" not in words[-1]:
        assert got.outcome == "time_limit"


@attack("E04")
def test_dripping_output_does_not_move_the_deadline(bell):
    got = bell.run("--time", "500ms", "--", "/bin/sh", "-c", "while :; do echo x; sleep 0.02; done")
    assert got.outcome == "time_limit"
    assert got.json["stdout"]["bytes"] > 0


@attack("E05")
def test_ignoring_every_signal_does_not_help(bell):
    assert bell.inside("stubborn", options=["--time", "300ms"]).outcome == "time_limit"
    got = bell.inside("spin", options=["--cpu-time", "200ms", "--time", "50s"])
    assert got.outcome == "cpu_limit"


@attack("E05")
def test_stopping_itself_does_not_help(bell):
    got = bell.run("--time", "300ms", "--", "/bin/sh", "-c", "kill -STOP $$; echo went on")
    assert (got.outcome, got.json["stdout"]["bytes"]) == ("time_limit", 0)


@attack("E06")
@pytest.mark.parametrize("value", ["0", "0s", "-1s", "-1", "NaN", "nan", "inf", "1e9s", "",
                                   "9223372036854775808s", "18446744073709551616ms", "0x10s"])
def test_no_value_of_time_means_for_ever(bell, value):
    got = bell.raw(f"--time={value}", "--", "/bin/echo", "ran")
    assert got[0] == 125 and got[1] == b"", got


@attack("E07")
def test_compiling_counts_too(bell):
    code = ("#include \"/dev/zero\"\nint main(void) { return 0; }\n")
    got = bell.run("--time", "1s", "--cpu-time", "20s", "-c", code, "--lang", "c")
    assert got.outcome in ("time_limit", "memory_limit", "exited"), got
    assert not (got.outcome == "exited" and got.exit_code == 0)
    loop = bell.file("loop.cc", "template<int N> struct A { static constexpr long v = A<N-1>::v + "
                     "A<N-2>::v; };\n" "constexpr long f(long n) { return n < 2 ? n : f(n-1) + "
                     "f(n-2); }\nconstexpr long x = f(60);\nint main() { return (int)x; }\n")
    got = bell.run("--time", "700ms", "--memory", "512m", loop)
    assert got.outcome == "time_limit"


@attack("E08")
def test_no_priority_can_be_had(bell, bare):
    lines = bell.inside("sched_fifo", ",", "nice", -20, ",", "nice", -1, ",", "nice", 19, ",",
                        "sys", 144, 0, 0x40000001, "z:8", ",", "sys", 314, 0, "z:56", 0, ",",
                        "setrlimit", 14).lines
    assert [line["name"] for line in lines[:3]] == ["EPERM", "EACCES", "EACCES"]
    assert lines[3]["ok"]
    assert [line["name"] for line in lines[4:6]] == ["EPERM", "ENOSYS"]
    assert lines[6]["text"] == "0 0" and lines[7]["name"] == "EPERM"


def test_half_a_cpu_is_half_a_cpu(bell):
    if not bell.cgroup:
        return  # without a cgroup nothing shares a CPU out, and the receipt says so
    got = bell.inside("burners", 4, ",", "pause", options=["--time", "1s", "--cpus", "0.5"])
    assert got.outcome == "time_limit"
    assert got.usage["cpu_ms"] < 800, "four busy tasks on two CPUs would use far more"


# ---- Memory --------------------------------------------------------------------------------------

TIGHT = ["--memory", "64m", "--time", "30s", "--cpu-time", "30s"]


@attack("F01")
@pytest.mark.parametrize("verb", ["alloc", "alloc_shared", "alloc_memfd", "alloc_shm"])
def test_memory_of_every_kind_counts(bell, bare, verb):
    # In namespaces of its own: what System V gives outlives the process.
    assert bare(verb, 100, outer=True)[0]["ok"]
    assert bell.inside(verb, 30, options=TIGHT).line["ok"]
    # Held until it is seen: without a cgroup memory is polled, and the receipt says so.
    got = bell.inside(verb, 100, ",", "pause", options=["--memory", "64m", "--time", "5s"])
    assert (got.outcome, got.limits_hit) == ("memory_limit", ["memory"])


@attack("F02")
def test_the_memory_of_all_children_counts(bell):
    assert bell.inside("children_alloc", 10, 4, options=TIGHT).line["value"] == 0
    got = bell.inside("children_alloc", 20, 8, options=TIGHT)
    if bell.cgroup:
        assert got.limits_hit == ["memory"]
        assert got.outcome == "memory_limit" or got.lines[0]["value"] > 0
    else:
        assert (got.outcome, got.limits_hit) == ("memory_limit", ["memory"])


@attack("F03", "H01")
@pytest.mark.parametrize("place, size", [("/tmp", 16), ("/workspace", 64), ("/dev/shm", 16)])
def test_a_private_mount_has_a_size(bell, place, size):
    line = bell.inside("fill", place, 200, options=["--memory", "512m"]).line
    assert line["name"] == "ENOSPC", line
    assert (size - 2) << 20 < int(line["text"]) <= size << 20


@attack("F03")
def test_pages_of_the_private_mounts_count_as_memory(bell):
    got = bell.inside("fill", "/workspace", 200,
                      options=[*TIGHT, "--workspace", "400m"])
    assert (got.outcome, got.limits_hit[0]) == ("memory_limit", "memory")


@attack("F03")
def test_nothing_else_can_be_filled(bell):
    got = bell.run("--", "/bin/sh", "-c", "for d in / /usr /etc /dev /proc /home /var /run /bin "
                   "/var/tmp ~; do [ -d $d ] && echo x 2>/dev/null >$d/filled && echo $d; done")
    for place in got.out.split():
        # What can be written is one of the private mounts, perhaps by a link.
        got = bell.run("--", "/bin/sh", "-c", f"cd {place} && df --output=target . | tail -1")
        assert got.out.strip() in ("/tmp", "/workspace", "/dev/shm"), (place, got.out)


@attack("F05")
def test_memory_of_the_kernel_counts_or_is_bounded(bell, bare):
    got = bell.inside("pipes", 20000, options=TIGHT)
    if got.outcome == "exited":
        assert got.line["name"] == "EMFILE", got
        assert int(got.line["text"].split()[0]) < 1024
    else:
        assert (got.outcome, got.limits_hit) == ("memory_limit", ["memory"])
    assert bare("pipes", 1000)[0]["value"] == 1000


@attack("F06", "H02")
@pytest.mark.parametrize("place", ["/tmp", "/workspace", "/dev/shm"])
def test_a_private_mount_has_a_number_of_files(bell, place):
    line = bell.inside("mkfiles", place, 100000, options=["--inodes", "1000"]).line
    assert line["name"] == "ENOSPC", line
    assert 900 < int(line["text"]) <= 1000


@attack("F04")
def test_huge_pages_are_refused(bell):
    lines = bell.inside("sys", 9, 0, 0x200000, 3, 0x40022, -1, 0, ",",
                        "sys", 319, "s:huge", 4, ",", "sys", 29, 0, 0x200000, 0o4600).lines
    assert {line["name"] for line in lines} == {"ENOMEM"}


@attack("F09")
def test_the_memory_of_one_run_is_not_charged_to_the_next(bell):
    if not bell.cgroup:
        return  # the peak of a poll says nothing here
    bell.inside("fill", "/workspace", 50, ",", "alloc", 100)
    assert bell.run("--", "/bin/true").usage["memory_peak_bytes"] < 20 << 20


@attack("F10")
@pytest.mark.parametrize("what", ["env", "args", "code", "policy"])
def test_a_huge_request_is_refused_before_it_costs_anything(bell, what):
    if what == "env":
        words = []
        for n in range(2000):
            words += ["--env", f"V{n}={'x' * 50}"]
        words += ["--", "/bin/true"]
    elif what == "args":
        words = ["--", "/bin/true", *["a"] * 6000]
    elif what == "code":
        words = [bell.file("big.py", b"#" + b"x" * (100 << 20)), ]
    else:
        big = bell.file("big.json", b'{"accept_missing": [' + b'"cgroup",' * 2000000 + b'"cgroup"]}')
        words = ["--policy", big, "--", "/bin/true"]
    status, out, err = bell.raw(*words, policy=what != "policy")
    assert status == 125 and out == b"" and err.count(b"\n") == 1, (status, out, err[:500])


@attack("F10")
def test_reading_a_device_as_a_file_does_not_end_in_a_huge_allocation(bell):
    for words in (["--policy", "/dev/zero", "--", "/bin/true"], ["/dev/zero"],
                  ["--in", "/dev/zero:x", "--", "/bin/true"]):
        status, out, err = bell.raw(*words, policy="--policy" not in words)
        assert status == 125 and out == b"" and err.count(b"\n") == 1, (words, err[:500])


@attack("K08")
def test_the_launcher_is_not_in_the_runs_cgroup(bell, token):
    process = bell.start_inside("pause", token)
    try:
        assert harness.until(lambda: harness.started(token))
        for pid in harness.launchers(process.pid):
            assert b"belljar-" not in harness.read(f"/proc/{pid}/cgroup")
        if bell.cgroup:
            (program,) = harness.marked(token)
            assert b"belljar-" in harness.read(f"/proc/{program}/cgroup")
    finally:
        process.terminate()
        bell.finish(process)


def test_what_is_shown_inside_is_what_is_given(bell):
    got = bell.run("--memory", "128m", "--cpus", "0.5", "--", "/bin/sh", "-c",
                   "nproc; free -b | awk '/Mem:/ {print $2}'; "
                   "python3 -c 'import os; print(os.cpu_count())'; grep -c ^processor /proc/cpuinfo")
    assert got.out.split() == ["1", str(128 << 20), "1", "1"]
