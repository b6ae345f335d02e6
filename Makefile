# The front door. CMake and Ninja do the building; see CONTRIBUTING.md.
BUILD  ?= build
PREFIX ?= /usr/local
CONFIG ?=
NINJA   = ninja -C $(BUILD)

.PHONY: all demo test bench install asan tsan fuzz format lint clean

all: setup-build
	@cmake -S . -B $(BUILD) -G Ninja $(CONFIG) \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 || \
	    { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@$(NINJA)

# setup-build, setup-test: the Debian packages that are missing.
setup-%:
	@[ -n "$(ASSAY_SKIP_SETUP)" ] || scripts/setup.sh $*
