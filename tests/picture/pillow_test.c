/* Pillow decodes the same pixels from every file. */
#include "base/file.h"
#include "picture/picture.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *const shared_files[] = {
    "photos/decoder-corner-cases/fakedata_logos_cmyk_pytorch.jpg",
    "photos/decoder-corner-cases/fakedata_logos_gray_pytorch.jpg",
    "photos/decoder-corner-cases/fakedata_logos_rgb_pytorch.jpg",
    "photos/decoder-corner-cases/fakedata_logos_gray_pytorch.png",
    "photos/decoder-corner-cases/fakedata_logos_grayalpha_pytorch.png",
    "photos/decoder-corner-cases/fakedata_logos_palette_pytorch.png",
    "photos/decoder-corner-cases/fakedata_logos_rgb_pytorch.png",
    "photos/decoder-corner-cases/fakedata_logos_rgb_pytorch16.png",
    "photos/decoder-corner-cases/fakedata_logos_rgbalpha_pytorch.png",
    "photos/decoder-corner-cases/fakedata_logos_rgbalpha_pytorch16.png",
    "photos/decoder-corner-cases/interlaced_png_wizard_low-interlaced.png",
    "photos/decoder-corner-cases/damaged_jpeg_bad_huffman.jpg",
    "photos/torchvision/dog1.jpg", /* progressive */
    "photos/neureality/P1020741.JPG",
    "photos/skimage/coffee.png",
    "datasets/oxford-iiit-pet/images/Egyptian_Mau_129.jpg", /* grey */
    "datasets/oxford-iiit-pet/images/Abyssinian_5.jpg",     /* a PNG */
};

enum { no_pillow = 77, no_python = 127 };

static void make_pictures(const char *folder, struct str *command)
{
    int status;

    CHECK_INT(mkdir(folder, 0700), 0);
    CHECK_INT(str_printf(command,
                         "/usr/bin/python3 -W ignore "
                         "%s/tests/picture/make_pictures.py %s",
                         TEST_SOURCE_DIR, folder),
              ASSAY_OK);
    for (size_t i = 0; i < sizeof shared_files / sizeof shared_files[0]; i++) {
        const char *path = test_shared(shared_files[i]);

        if (path)
            CHECK_INT(str_printf(command, " %s", path), ASSAY_OK);
    }
    status = system(command->text);
    str_release(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_pillow || WEXITSTATUS(status) == no_python))
        SKIP("pillow: /usr/bin/python3 has no PIL (Debian: python3-pil)");
    CHECK_INT(status, 0);
}

/* The picture in FOLDER/NAME, or in the file that it names. */
static struct picture read_case(const char *path)
{
    const char *dot = strrchr(path, '.');
    struct picture picture;
    struct error err = {0};
    struct str name = {0};

    if (strcmp(dot, ".path") == 0)
        CHECK_STATUS(file_read(path, 4096, &name, &err), ASSAY_OK, &err);
    else
        CHECK_INT(str_append(&name, path), ASSAY_OK);
    CHECK_STATUS(picture_read(name.text, &picture, &err), ASSAY_OK, &err);
    str_release(&name);
    return picture;
}

static void check_against(const char *path, const char *ppm_path)
{
    struct picture picture = read_case(path);
    size_t n = (size_t)picture.width * (size_t)picture.height * 3;
    FILE *ppm = fopen(ppm_path, "rb");
    uint8_t *want = malloc(n);
    int width, height;

    CHECK(ppm != NULL && want != NULL);
    CHECK_INT(fscanf(ppm, "P6 %d %d 255", &width, &height), 2);
    CHECK_INT(fgetc(ppm), '\n');
    CHECK_INT(picture.width, width);
    CHECK_INT(picture.height, height);
    CHECK_INT(fread(want, 1, n, ppm), n);
    for (size_t i = 0; i < n; i++) {
        if (picture.rgb[i] != want[i])
            print_error("%s: byte %zu\n", path, i);
        CHECK_INT(picture.rgb[i], want[i]);
    }
    fclose(ppm);
    free(want);
    picture_release(&picture);
}

TEST(pillow_sees_the_same_pixels)
{
    const char *folder = test_path("pictures");
    struct str command = {0};
    struct dirent *entry;
    DIR *entries;
    int n = 0;

    make_pictures(folder, &command);
    entries = opendir(folder);
    CHECK(entries != NULL);
    while ((entry = readdir(entries)) != NULL) {
        char path[600], ppm[610];

        if (entry->d_name[0] == '.' || strstr(entry->d_name, ".ppm"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(ppm, sizeof ppm, "%s.ppm", path);
        check_against(path, ppm);
        n++;
    }
    closedir(entries);
    CHECK(n >= 27);
}
