# SPDX-License-Identifier: Apache-2.0
#
# A thin front to Meson. Every target does its own set-up: it installs what is missing on Debian and
# Ubuntu (tools/setup), configures, builds and runs. Only `gates` needs root.
#
# Tests and examples use installed files, never those of the build tree: `stage` installs into
# build/stage, so that what is tested is what a package would hold.

BUILD  ?= build
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
N            ?= 100
SOAK         ?= 10000
FUZZ_SECONDS ?= 3600
NAME         ?= $(shell uname -r)
DESTDIR  ?=
HUMANEVAL ?=
DEFECTS   ?=
KERNELS   ?= 6.1 6.12
LAB       ?=

override BUILD := $(abspath $(BUILD))
STAGE  := $(BUILD)/stage
MESON  ?= meson

export BUILD STAGE MESON PYTHON
unexport DESTDIR

.PHONY: help setup stage run test gates defects lab lab-vm bench fuzz install docs clean

help:
	@echo 'make run      build, then run an example program on real data; its answer and its receipt'
	@echo 'make test     unit, simulator, rule and live tests (at most 10 minutes)'
	@echo 'make gates    everything before a merge: compilers, sanitizers, analysers, other kernels (root)'
	@echo 'make defects  every planted defect: which of them the tests would miss (root; 40 minutes)'
	@echo 'make lab      attack this host'"'"'s Belljar, layers removed one at a time: build/lab.html [LAB=VERB]'
	@echo 'make lab-vm   every attack of the lab on Linux 6.1 and 6.12 under QEMU (root; hours) [LAB=ablate]'
	@echo 'make bench    numbers, side by side: [HUMANEVAL=FILE.jsonl.gz] [N=100] [SOAK=10000]'
	@echo 'make fuzz     every fuzzer, FUZZ_SECONDS=3600 each'
	@echo 'make docs     generated pages anew'
	@echo 'make stage    build and install into build/stage'
	@echo 'make install  PREFIX=/usr/local DESTDIR='
	@echo 'make clean    remove build/'

$(BUILD)/build.ninja:
	@tools/setup build
	@tools/fetch
	$(MESON) setup $(BUILD) --prefix=$(STAGE) >$(BUILD).setup.log || { cat $(BUILD).setup.log; exit 1; }
	@rm -f $(BUILD).setup.log

stage: $(BUILD)/build.ninja
	@tools/setup build
	@ninja -C $(BUILD) --quiet
	@$(MESON) install -C $(BUILD) --no-rebuild --quiet

run: stage
	@tools/run-example $(STAGE)

# `tests` is automatic: a tree configured before cmocka was there has none.
$(BUILD)/.with-tests: $(BUILD)/build.ninja
	@tools/setup test
	@$(MESON) configure $(BUILD) -Dtests=enabled
	@touch $@

test: $(BUILD)/.with-tests
	@tools/setup test
	@$(MAKE) --no-print-directory stage
	@$(PYTHON) -B tests/gates/test.py

gates:
	@[ "$$(id -u)" -eq 0 ] || { echo 'make gates: needs root (cgroups, QEMU images, other users)' >&2; exit 1; }
	@tools/setup gates
	@$(MAKE) --no-print-directory $(BUILD)/.with-tests stage
	@$(PYTHON) -B tests/gates/gates.py

defects:
	@[ "$$(id -u)" -eq 0 ] || { echo 'make defects: needs root (cgroups, other users)' >&2; exit 1; }
	@tools/setup test
	@$(PYTHON) -B tests/defects/defects.py $(DEFECTS)

# As root or not: what can be had differs. Of `list` there is no page.
lab: stage
	@PYTHONPATH=lab LAB_DIR='$(BUILD)/lab' $(PYTHON) -B -m belljar_lab $(or $(LAB),all) \
		$(if $(filter list,$(firstword $(LAB))),,--html '$(BUILD)/lab.html')

lab-vm: $(BUILD)/build.ninja
	@[ "$$(id -u)" -eq 0 ] || { echo 'make lab-vm: needs root (QEMU images, shared files)' >&2; exit 1; }
	@tools/setup gates
	@$(MAKE) --no-print-directory stage
	@$(MAKE) --no-print-directory --jobs $(KERNELS:%=lab-vm-%)

# A machine emulates on one CPU of the host: the kernels run side by side.
lab-vm-%:
	@tools/vm/run --kernel '$*' --cpus 2 --memory 2048 --timeout 14400 --times --label '$*: ' \
		--share '$(BUILD)' --env PYTHONPATH='$(CURDIR)/lab' --env LAB_DIR='$(BUILD)/lab' -- \
		/usr/bin/python3 -B -m belljar_lab $(or $(LAB),ablate) >'$(BUILD)/lab-vm-$*.txt'; \
		status=$$?; cat '$(BUILD)/lab-vm-$*.txt'; exit $$status

bench: $(BUILD)/build.ninja
	@tools/setup bench
	@$(MAKE) --no-print-directory stage
	@ninja -C $(BUILD) --quiet benches
	@$(PYTHON) -B bench/bench.py --n $(N) --soak $(SOAK) --name '$(NAME)' $(if $(HUMANEVAL),--humaneval '$(HUMANEVAL)')

fuzz:
	@tools/setup gates
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/gates/fuzz.sh

docs: $(BUILD)/build.ninja
	@tools/setup build
	@tests/gates/docs.sh --write

# A tree of its own for each install: the prefix is part of the programs.
install:
	@tools/setup build
	@tools/fetch
	@DESTDIR='$(DESTDIR)' tools/install '$(PREFIX)'

clean:
	rm -rf $(BUILD)
