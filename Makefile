# The front door. Each target is one line; what they do is in xtask (Rust), which installs what it misses and says so.
XTASK = cargo run --quiet --package xtask --

.PHONY: help demo demo-local test bench fuzz lint fmt dev doc
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 - /p' Makefile | sed 's/ - /\t/' | expand -t 20

demo: ## two real kernels on virtual hosts, from boot to verdict; ARGS=--quick, ARGS=--exit
	@$(XTASK) demo $(ARGS)

demo-local: ## I/O schedulers on loop disks of this machine, in minutes; ARGS=--quick, ARGS=--exit
	@$(XTASK) demo-local $(ARGS)

test: ## everything that must pass: lints, tests on both databases, real disks, documentation
	@$(XTASK) test $(ARGS)

bench: ## performance as ratios in one run
	@$(XTASK) bench $(ARGS)

fuzz: ## a minute of fuzzing for the parsers
	@$(XTASK) fuzz

lint: ## formatting, clippy, licences
	@$(XTASK) lint

fmt: ## format the code
	@cargo fmt --all

dev: ## the demo from a debug build, quick to change
	@$(XTASK) dev $(ARGS)

doc: ## API documentation, without warnings
	@$(XTASK) doc
