#ifndef FG_CONFORMANCE_MUTANTS_FAULT_H
#define FG_CONFORMANCE_MUTANTS_FAULT_H

/* Planted faults of backends. Each is the backend `host` with one function of it replaced when
 * build/mutants/NAME.so is linked (ld --wrap), so that it differs by that fault only. The Makefile
 * takes the replaced symbols from the FG_FAULTY lines. */

/* Declares the function that stands in for `symbol`, and what it stands in for. */
#define FG_FAULTY(symbol) __asm__("__wrap_" symbol)
#define FG_REAL(symbol) __asm__("__real_" symbol)

#endif
