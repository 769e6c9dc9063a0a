#ifndef FG_REFERENCE_ORACLE_MEMORY_H
#define FG_REFERENCE_ORACLE_MEMORY_H

#include "reference/oracle_state.h"

/* Fills in a zeroed oracle whose spec is set and checked: extents, segments, arithmetic, and every
 * array at the size of the largest expert. FG_STATUS_NO_MEMORY, _INVALID, _SHAPE; memory_free is
 * safe after any of them. */
fg_status fg_oracle_memory_create(fg_oracle *oracle);
void fg_oracle_memory_free(fg_oracle *oracle);

#endif
