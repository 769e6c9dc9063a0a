#ifndef FG_CONFORMANCE_TENSORS_TENSORS_H
#define FG_CONFORMANCE_TENSORS_TENSORS_H

#include "conformance/case/case.h"
#include "conformance/process/shm.h"
#include "contract/backend.h"

/* Every tensor of a case, in one shared mapping:
 *
 *   | guard | x | guard | w1 | .. | dy | splits | y | gradients | saved | scratch |
 *
 * Each base pointer is a multiple of base_align and of no more, guards stand before and after each,
 * rows and experts lie apart where the case says strides=padded. What a call may not write holds
 * poison and is watched. */
enum {
    FG_BUFFER_INPUT = 0,                 /* + FG_X .. FG_BIAS_P */
    FG_BUFFER_DY = FG_INPUTS,            /* numbers as in data.h */
    FG_BUFFER_BEFORE_W1 = FG_INPUTS + 1, /* what an accumulating dw1 is added to */
    FG_BUFFER_BEFORE_W2 = FG_INPUTS + 2,
    FG_BUFFER_SPLITS = FG_INPUTS + 3,
    FG_BUFFER_OTHER_X = FG_INPUTS + 4,   /* see fresh.h */
    FG_BUFFER_CONSTANTS = FG_INPUTS + 5, /* up to here nothing changes */
    FG_BUFFER_Y = FG_BUFFER_CONSTANTS,
    FG_BUFFER_Y_NOGRAD,                           /* y of a forward without gradients before */
    FG_BUFFER_GRAD,                               /* + FG_X .. */
    FG_BUFFER_FIRST = FG_BUFFER_GRAD + FG_INPUTS, /* + FG_X ..: gradients of the call before */
    FG_BUFFER_SAVED = FG_BUFFER_FIRST + FG_INPUTS,
    FG_BUFFER_SCRATCH_FORWARD,
    FG_BUFFER_SCRATCH_BACKWARD,
    FG_BUFFER_OTHER_Y, /* y and saved of a forward of the other x */
    FG_BUFFER_OTHER_SAVED,
    FG_BUFFERS,
};

/* What fills memory before a call: a signalling NaN, whose bits any arithmetic changes, or a large
 * finite number. */
typedef enum fg_poison { FG_POISON_NAN = 0, FG_POISON_LARGE = 1 } fg_poison;

typedef struct fg_buffer {
    int32_t present;
    size_t region, offset, bytes, end; /* in the mapping: first guard, content, its size, last */
    uint32_t poison;                   /* the word that fills it now */
    fg_tensor view;                    /* ndim 0: plain bytes */
    char name[16];
} fg_buffer;

typedef struct fg_tensors {
    const fg_case *value;
    fg_shm shm;
    int64_t *begin; /* [E + 1] */
    fg_buffer buffers[FG_BUFFERS];
    int64_t touched; /* elements generated, poisoned, hashed or compared so far */
} fg_tensors;

/* Lays out and maps the tensors of a case, generates inputs, and poisons the rest. The case must
 * outlive them. FG_STATUS_NO_MEMORY, _IO, _OVERFLOW. */
fg_status fg_tensors_create(const fg_case *value, const fg_traits *traits,
                            const fg_kernel_sizes *sizes, fg_tensors **out);
void fg_tensors_destroy(fg_tensors *tensors);

/* View of a buffer, NULL when the case has none. */
const fg_tensor *fg_tensors_view(const fg_tensors *tensors, int number);

/* Address of a buffer of plain bytes (saved, scratch). */
void *fg_tensors_bytes(const fg_tensors *tensors, int number);

/* Elements of a buffer's view; four bytes are one where there is none. */
int64_t fg_buffer_elements(const fg_buffer *buffer);

/* Fills a buffer, its gaps and its guards. */
void fg_tensors_poison(fg_tensors *tensors, int number, fg_poison kind);

/* Copies the elements of one buffer over those of another of the same shape. */
void fg_tensors_copy(fg_tensors *tensors, int from, int to);

/* Hashes (XXH3) of each constant with its guards, gaps and padding (0: not there); of a whole
 * buffer; of the elements of a buffer that belong to experts. */
void fg_tensors_hash_constants(fg_tensors *tensors, uint64_t hashes[FG_BUFFER_CONSTANTS]);
uint64_t fg_tensors_hash_buffer(fg_tensors *tensors, int number);
uint64_t fg_tensors_hash_elements(fg_tensors *tensors, int number);

/* What a call was allowed to write in a buffer. */
typedef enum fg_allowed {
    FG_ALLOWED_NOTHING = 0,
    FG_ALLOWED_ELEMENTS = 1, /* of experts */
    FG_ALLOWED_PADDING = 2,  /* padding rows too */
    FG_ALLOWED_CONTENT = 3,  /* everything between the guards */
} fg_allowed;

/* Whether everything else still holds the buffer's poison; else 0, and `where` says what does
 * not: guard, gap or padding row. */
int fg_tensors_intact(fg_tensors *tensors, int number, fg_allowed allowed, char *where,
                      size_t size);

/* Number of elements of experts that still hold the poison, bit for bit; `where` says the first. */
int64_t fg_tensors_unwritten(fg_tensors *tensors, int number, char *where, size_t size);

/* Expert that a row of a tensor by token belongs to, -1 for padding. */
int64_t fg_tensors_expert(const fg_tensors *tensors, int64_t row);

#endif
