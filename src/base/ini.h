/* base/ini.h - INI files with Python-style lists, read into a tree of TOML
 * values.
 *
 * Sections are tables, keys are in lower case. Values are True and False,
 * numbers, texts with or without quotation marks, and lists of those in [] or
 * (). A line that begins with a blank continues the value before; a line that
 * begins with # or ; is a comment. The same rules as Python's configparser.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_INI_H
#define BASE_INI_H

#include "base/toml.h"

/* Like toml_read_text() and toml_read_file(); errors name line and column. */
enum assay_status ini_read_text(const char *text, size_t n, const char *name,
                                struct toml **out, struct error *err);
enum assay_status ini_read_file(const char *path, struct toml **out,
                                struct error *err);

#endif
