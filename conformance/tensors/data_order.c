#include "conformance/tensors/data_order.h"

#include "conformance/tensors/data_random.h"

enum { STREAM_CHOICE = 64, PURPOSE_ORDER = 16, TRIES = 64 };

int64_t fg_data_choice(const fg_data_spot *spot, uint32_t purpose, int64_t limit) {
    fg_random random = {spot->value->seed, STREAM_CHOICE, (uint64_t)spot->expert};
    return (int64_t)(fg_random_word(&random, purpose) % (uint64_t)limit);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether applying the order twice changes nothing: then its matrix would be symmetric. */
static int own_inverse(const fg_data_order *order) {
    return order->scale * order->scale % order->n == 1 % order->n &&
           (order->scale + 1) * order->offset % order->n == 0;
}

fg_data_order fg_data_order_of(const fg_data_spot *spot, int weight) {
    int64_t n = spot->value->problem.hidden;
    fg_data_order order = {n, 1, n > 2 ? 1 : 0};
    for (int try = 0; try < TRIES; try++) {
        uint32_t purpose = (uint32_t)(PURPOSE_ORDER + 2 * TRIES * weight + 2 * try);
        fg_data_order drawn = {n, 1 + fg_data_choice(spot, purpose, n),
                               fg_data_choice(spot, purpose + 1, n)};
        if (common_divisor(drawn.scale, n) == 1 && (n <= 2 || !own_inverse(&drawn))) {
            drawn.scale %= n > 1 ? n : 2;
            return drawn;
        }
    }
    return order;
}

int64_t fg_data_order_at(const fg_data_order *order, int64_t place) {
    return (order->scale * place + order->offset) % order->n;
}
