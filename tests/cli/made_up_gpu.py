"""A GPU that is made up (made_up_gpu.c), for tests of what the program says and does
with one."""
import os
import shutil
import subprocess
import tempfile


class Gpu:
    """A folder with the libraries, and what the program says with them."""

    def __init__(self, program, libraries, driver="libmade_up_gpu.so"):
        self.program = os.path.abspath(program)
        self.folder = tempfile.mkdtemp()
        for name in ("libnvrtc.so.13", "libnvidia-ml.so.1"):
            shutil.copy(libraries + "/libmade_up_gpu.so", f"{self.folder}/{name}")
        shutil.copy(f"{libraries}/{driver}", self.folder + "/libcuda.so.1")
        # Real ones know that there is no GPU: these open, and have no functions.
        for name in ("libcublasLt.so.13", "libcudnn.so.9", "libcupti.so.13"):
            shutil.copy(libraries + "/libmade_up_old.so", f"{self.folder}/{name}")

    def run(self, words, **settings):
        env = dict(os.environ, ASSAY_CUDA_PATH=self.folder, NO_COLOR="1",
                   XDG_CACHE_HOME=self.folder + "/cache",
                   **{name: str(value) for name, value in settings.items()})
        return subprocess.run([self.program, *words.split()], cwd=self.folder, env=env,
                              text=True, capture_output=True)

    def close(self):
        subprocess.run(["chmod", "-R", "u+w", self.folder], check=True)
        shutil.rmtree(self.folder)
