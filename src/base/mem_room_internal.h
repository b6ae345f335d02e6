/* base/mem_room_internal.h - how much memory the system has left.
 *
 * Linux hands out more than there is, and ends some process when that is used.
 * Who asks for a lot looks first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MEM_ROOM_INTERNAL_H
#define BASE_MEM_ROOM_INTERNAL_H

#include <stddef.h>

/* Bytes that this process can still have, swap included, within the limit of
 * its container. As Linux tells it in /proc and /sys below root ("": this
 * machine); SIZE_MAX where it does not. */
size_t mem_room(const char *root);

#endif
