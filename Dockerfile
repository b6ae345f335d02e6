# `assay train` in a container, on the processors; docs/container.md says how to
# use it, and Dockerfile.cuda is the same for NVIDIA's GPUs.
FROM debian:12

# The same steps as on any other machine: install the missing packages of
# packages/build.txt, then build everything and install it in /usr/local.
COPY . /src
RUN cd /src && scripts/setup.sh build && make install && rm -rf /src /var/lib/apt/lists/*

# Mount the settings at /work/.config, and a volume for data, weights and results
# at /work. What is missing is fetched.
WORKDIR /work
ENV XDG_CACHE_HOME=/work/.cache
ENTRYPOINT ["assay"]
CMD ["train", "--fetch"]
