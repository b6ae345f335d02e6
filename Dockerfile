# `assay train` in a container; docs/container.md says how to use it.
FROM debian:12

# The same steps as on any other machine: what is missing is installed from
# packages/build.txt, then everything is built and put into /usr/local.
COPY . /src
RUN cd /src && scripts/setup.sh build && make install && rm -rf /src /var/lib/apt/lists/*

# The settings are mounted at /work/.config, data and results beside them.
WORKDIR /work
ENV XDG_CACHE_HOME=/work/.cache
ENTRYPOINT ["assay"]
CMD ["train"]
