# All commands start here. CMake and Ninja do the building; CONTRIBUTING.md has
# the details.
#
#   make             build/assay and build/libassay.so
#   make demo        runs Faster R-CNN on a photograph and shows what it costs
#   make demo-train  trains it for a minute on synthetic images, and shows the cost
#   make test        builds and runs every test
#   make test-cpu    the tests of kernels again, with fewer instructions
#   make test-cuda   the tests that need an NVIDIA GPU; without one they skip themselves
#   make bench       measures what Assay itself costs, against fixed limits
#   make install     PREFIX=/usr/local, DESTDIR= for packagers
#   make asan        the tests under AddressSanitizer and UBSan, with clang
#   make tsan        the recorder's and the loader's tests under ThreadSanitizer
#   make fuzz        each fuzz target for FUZZ_SECONDS=60
#   make format      clang-format over every C file
#   make lint        clang-format, clang-tidy and shellcheck, all without complaint
#   make lint-changed  the same, but the analyzer only checks what changed since
#                    the last commit that passed
#   make clean       removes build/ and build-*/
#
# Missing Debian packages are installed first, or listed if we are not allowed to
# install; ASSAY_SKIP_SETUP=1 skips that.
PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60

SETUP = $(if $(ASSAY_SKIP_SETUP),:,scripts/setup.sh)
CLANG = -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++

LEVELS = avx2 sse4.1

.PHONY: all demo demo-train test test-cpu test-cuda bench install asan tsan fuzz format lint lint-changed clean

all:
	@$(SETUP) build
	@scripts/build.sh build -DCMAKE_INSTALL_PREFIX=$(PREFIX)

demo: all
	@build/assay run faster-rcnn assets/coffee.jpg -o build/demo.assay

demo-train: all
	@build/assay train --synthetic --min-size 160 --steps 30 \
	    -o build/demo-train.assay

test:
	@$(SETUP) build test
	@scripts/build.sh build -DASSAY_TESTS=ON
	@scripts/run_tests.sh build

test-cpu:
	@$(SETUP) build test
	@scripts/build.sh build -DASSAY_TESTS=ON
	@for level in $(LEVELS); do \
	    echo "== kernels limited to $$level"; \
	    ASSAY_CPU=$$level scripts/run_tests.sh build -L kernels || true; \
	done
	@/usr/bin/python3 scripts/count_tests.py $(LEVELS:%=build@%)

test-cuda:
	@$(SETUP) build test
	@scripts/build.sh build -DASSAY_TESTS=ON
	@scripts/run_tests.sh build -L cuda

asan:
	@$(SETUP) build test
	@scripts/build.sh build-asan -DASSAY_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
	    -DASSAY_SANITIZE=address,undefined $(CLANG)
	@scripts/run_tests.sh build-asan

tsan:
	@$(SETUP) build test
	@scripts/build.sh build-tsan -DASSAY_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
	    -DASSAY_SANITIZE=thread
	@scripts/run_tests.sh build-tsan -L 'record|threads'

fuzz:
	@$(SETUP) build test
	@scripts/build.sh build-fuzz -DASSAY_FUZZ=ON -DCMAKE_BUILD_TYPE=Debug \
	    $(CLANG)
	@scripts/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

bench:
	@$(SETUP) build test
	@scripts/build.sh build-bench -DASSAY_BENCH=ON -DCMAKE_BUILD_TYPE=Release
	@scripts/run_bench.sh build-bench

install: all
	@DESTDIR=$(DESTDIR) cmake --install build
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

format:
	@$(SETUP) develop
	@git ls-files '*.c' '*.h' '*.cpp' '*.js' | xargs clang-format -i

lint:
	@$(SETUP) build develop
	@scripts/build.sh build
	@scripts/lint.sh build

lint-changed:
	@$(SETUP) build test develop
	@scripts/build.sh build -DASSAY_TESTS=ON
	@scripts/lint.sh build changed

clean:
	rm -rf build build-*
