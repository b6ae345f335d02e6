/* formats/weights/curl_library_internal.h - libcurl, loaded when something is
 * to be fetched.
 *
 * It brings some thirty libraries along, which would cost every start of the
 * program about 10 ms; few starts need it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_CURL_LIBRARY_INTERNAL_H
#define FORMATS_WEIGHTS_CURL_LIBRARY_INTERNAL_H

#include "base/error.h"

#include <curl/curl.h>

struct curl_library {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
};

/* It stays loaded. */
enum assay_status curl_library_load(struct curl_library *library,
                                    struct error *err);

#endif
