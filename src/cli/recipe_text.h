/* cli/recipe_text.h - reads the value of --input.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RECIPE_TEXT_H
#define CLI_RECIPE_TEXT_H

#include "vision/recipe.h"

/* "size=640x480,fit=letterbox,pad=114,order=bgr,scale=1/255,mean=1:2:3". Keys
 * that are left out stay as they are in *recipe. */
enum assay_status recipe_read(const char *text, struct recipe *recipe,
                              struct error *err);

#endif
