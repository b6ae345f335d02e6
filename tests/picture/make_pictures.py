#!/usr/bin/python3
"""Writes pictures of every sort with Pillow, and what Pillow reads in them.

    make_pictures.py FOLDER [FILE...]

For each case FOLDER/NAME and FOLDER/NAME.ppm; for each FILE, which stays where
it is, its path in FOLDER/N.path and FOLDER/N.path.ppm. Exits with 77 where
there is no Pillow.
"""
import pathlib
import struct
import sys
import zlib

try:
    from PIL import Image, ImageOps
except ImportError:
    sys.exit(77)


def scene(width, height):
    """Smooth and busy parts, no symmetry."""
    image = Image.new("RGB", (width, height))
    image.putdata([((x * 5) % 256, (y * 7 + x) % 256,
                    255 if (x // 5 + y // 3) % 4 == 0 else x * y % 256)
                   for y in range(height) for x in range(width)])
    return image


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def write_png_16(path, width, height):
    """16-bit RGB, which Pillow only reads; the lower bytes matter."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(
        b"\0" + b"".join(struct.pack(">H", (y * 4099 + x * 257 + 200) % 65536)
                         for x in range(width * 3)) for y in range(height))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_cases(folder):
    rgb = scene(61, 43)
    alpha = Image.linear_gradient("L").resize(rgb.size)
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    palette = rgb.quantize(37)
    rgb.save(folder / "baseline.jpg")
    rgb.save(folder / "full_chroma.jpg", subsampling=0, quality=95)
    rgb.save(folder / "half_chroma.jpg", subsampling=1)
    rgb.save(folder / "progressive.jpg", progressive=True)
    rgb.convert("L").save(folder / "grey.jpg")
    rgb.convert("L").save(folder / "grey_progressive.jpg", progressive=True)
    Image.merge("CMYK", (*rgb.split(), alpha)).save(folder / "cmyk.jpg")
    for orientation in range(1, 9):
        rgb.save(folder / f"turned_{orientation}.jpg", exif=exif(orientation))
    rgb.save(folder / "turned_6.png", exif=exif(6)[6:])
    for name, image in (("rgb", rgb), ("rgba", rgba),
                        ("grey", rgb.convert("L")),
                        ("grey_alpha", rgba.convert("LA")),
                        ("one_bit", rgb.convert("1")), ("palette", palette)):
        image.save(folder / f"{name}.png")
    palette.save(folder / "palette_transparent.png", transparency=3)
    rgb.quantize(3).save(folder / "palette_2_bits.png", bits=2)
    write_png_16(folder / "rgb_16.png", 23, 19)
    scene(1, 1).save(folder / "one_pixel.png")
    scene(1, 1).save(folder / "one_pixel.jpg")


def write_answer(image_path, ppm_path):
    with Image.open(image_path) as image:
        upright = ImageOps.exif_transpose(image)
        upright.convert("RGB").save(ppm_path, "PPM")


def main(folder, files):
    write_cases(folder)
    for path in sorted(folder.iterdir()):
        write_answer(path, folder / (path.name + ".ppm"))
    for n, path in enumerate(files):
        (folder / f"{n}.path").write_text(path)
        write_answer(path, folder / f"{n}.path.ppm")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
