#ifndef FG_CONFORMANCE_CLOCK_H
#define FG_CONFORMANCE_CLOCK_H

/* Seconds of a clock that only moves forward. */
double fg_clock_seconds(void);

#endif
