//! What the papers get wrong or leave open, and how Cusp reads them.
//!
//! The algorithms come from five publications. Some of their definitions are misprinted, several of their algorithms are
//! unsound or incomplete as printed, and the languages leave questions open. Each item below is one decision. The numbers never
//! change: "errata 13" anywhere in the project is [item 13](item_13). This module contains documentation only.
//!
//! | letter | publication |
//! |---|---|
//! | \[B\] | G. Basler, "Model Checking Boolean Programs", thesis, ETH Zurich 2010 |
//! | \[C\] | A. Kaiser, D. Kroening, T. Wahl, "Dynamic Cutoff Detection in Parameterized Concurrent Programs", CAV 2010 |
//! | \[M\] | A. Kaiser, D. Kroening, T. Wahl, "Efficient Coverability Analysis by Proof Minimization", CONCUR 2012 |
//! | \[D\] | G. Delzanno, J.-F. Raskin, L. Van Begin, "Towards the Automated Verification of Multithreaded Java Programs", TACAS 2002 |
//! | \[L\] | T. Ball, S. Chaki, S. K. Rajamani, "Parameterized Verification of Multithreaded Software Libraries", Microsoft Research, technical report MSR-TR-2000-116, 2000 |
//!
//! Items 1 to 18 are about sequential programs, 19 to 24 about programs with threads, 25 to 27 about cutoffs, 28 to 33 about
//! coverability, and 34 to 37 are decisions about the languages that experience added.
//!
//! If you find another error in a paper, trust a brute-force check more than the page, and add an item here.

/// Errata 1: variables start with arbitrary values, and every `*` is a new choice.
///
/// Globals without an initial value and all locals start with arbitrary values. Each time an expression is
/// evaluated, each `*` in it is chosen anew, independently of every other `*` and of every earlier
/// evaluation. So `x = x` always holds, and `* = *` need not hold.
pub mod item_1 {}

/// Errata 2: `'x` is the value of `x` after the assignment.
///
/// `'x`, also written `x'`, is allowed in a `constrain` condition only. There it means the value that the
/// assignment gives to `x`; `x` without the quote means the value before the assignment.
pub mod item_2 {}

/// Errata 3: `schoose[pos, neg]` is `pos | (* & !neg)`.
///
/// If `pos` holds, the result is true; otherwise, if `neg` holds, it is false; otherwise it is either value.
/// If both hold, `pos` wins. The image of this expression that is printed in section 10.8 of \[B\] leaves out
/// the last case. A new value `v'` is possible iff `pos` implies `v'`, and `!pos & neg` implies `!v'`.
pub mod item_3 {}

/// Errata 4: an assertion fails if some choice makes it false.
///
/// `assert e` fails in a state if there are values for the choices in `e` that make `e` false. A run that
/// passes the assertion continues with `e` assumed. Programs of SLAM have no assertions: there the property
/// is that a label is not reached.
pub mod item_4 {}

/// Errata 5: `dead v` is `v := *`; `enforce e` restricts every state of its procedure.
///
/// `enforce e` applies at the entry of its procedure, after each of its statements, and after each return
/// into it, wherever in the body it is written. If `e` contains choices, some choice has to satisfy it. In a
/// program with threads it restricts only the steps of the thread that runs the procedure; [item 35](item_35)
/// says which steps these are.
pub mod item_5 {}

/// Errata 6: a condition is evaluated once per visit.
///
/// Each time control comes to an `if` or a `while`, its condition is evaluated once. If it contains choices,
/// a branch can be taken if some choice allows it, so that both branches may be possible.
pub mod item_6 {}

/// Errata 7: the end of a body is a `return` with arbitrary values.
///
/// A procedure that reaches the end of its body without a `return` returns, and its return values are
/// arbitrary.
pub mod item_7 {}

/// Errata 8: the reachability diameter counts "at most k steps".
///
/// Formula (2.3) of \[B\] defines the reachability diameter. It has to say that every reachable state is
/// reachable in *at most* `k` steps, not in exactly `k`.
pub mod item_8 {}

/// Errata 9: the step of k-induction, as it has to be read.
///
/// Formula (2.6) of \[B\] has the wrong polarity, and it constrains the transitions for `i < k` only, so that
/// the state `s(k+1)` is not connected to the others. Read: the property holds in `s(0)` to `s(k)`; there is
/// a transition from `s(i)` to `s(i+1)` for every `i` from 0 to `k`; the states `s(0)` to `s(k)` are pairwise
/// different; and the property is violated in `s(k+1)`. The step case holds if this is unsatisfiable.
pub mod item_9 {}

/// Errata 10: universal summaries: callees first, from arbitrary entries.
///
/// In section 4.2.2 of \[B\], the summaries of the callees are computed before those of their callers. The
/// bound is the length of the longest loop-free path from an *arbitrary* entry state, reachable or not. The
/// union over path lengths starts at length 0.
pub mod item_10 {}

/// Errata 11: saturation with summaries is unsound as printed, in two ways.
///
/// This is about figure 4.3 of \[B\]. Small programs confirmed both errors.
///
/// First, lines 15 to 23 put a call aside only if no summary applies to it yet, so summaries that are found
/// later never reach it. Instead: always add the entry edge of the callee, always remember the caller, and
/// apply every existing and every future summary to it.
///
/// Second, condition (4.2) asks that a summary covers *all* entry values of the call. With `g := *; f();
/// assert(F)` and the body `assume(g)` for `f`, no summary ever applies, and the answer is a wrong "safe".
/// Instead: apply a summary wherever its entries and the call *overlap*, which is a plain SAT question, as in
/// Bebop. The forall-exists question belongs to subsumption (4.3) only. It is asked about pairs of entry and
/// current state, against the *union* of the edges at the node.
pub mod item_11 {}

/// Errata 12: what has to differ between nested calls.
///
/// The exchange argument behind theorem 4.5 of \[B\] compares nested activations of a procedure. It needs
/// only the procedure, the globals and the parameters at the entry, and the globals and the return values at
/// the exit. To compare uninitialised locals as well is sound, but makes the bound needlessly exponential.
/// The bound can be exponential in any case. If a limit ends the search before the bound is reached, the
/// answer is "unknown" and never "safe".
pub mod item_12 {}

/// Errata 13: procedures have an error exit.
///
/// A summary relates entry states to exit states, so it misses an assertion that fails in a call that never
/// returns. Every procedure therefore has one more exit, for failure, which its callers inherit. It counts as
/// an exit where the exits of nested calls are compared ([item 12](item_12)).
pub mod item_13 {}

/// Errata 14: recurrence diameters explode on simple loops.
///
/// `while (*) do x1, .., xn := *, .., *; od` has a reachability diameter of 1, but a loop-free path with 2^n
/// states. So states are compared at loop heads only, and by their live variables only; and whether one more
/// step adds new states is asked first, as an inclusion (a forall-exists question), before the length of
/// loop-free paths is used.
pub mod item_14 {}

/// Errata 15: choices in assignments are existential.
///
/// After an assignment with choices, a variable may have every value that some choice gives it. The procedure
/// EXTRACTIMPLICATION of section 10.8 of \[B\] cannot be used as it is printed, and Cusp does not implement
/// it.
pub mod item_15 {}

/// Errata 16: `ite` merges two states only if their guards exclude each other.
///
/// If two symbolic states are merged by `ite(guard1, value1, value2)`, the values of the second state are
/// lost where both guards hold. If the guards may overlap, a fresh choice has to select between the states.
pub mod item_16 {}

/// Errata 17: two listings in the thesis are different programs.
///
/// Listings A.1 and A.6 of \[B\] are not the same program. Listing A.4 jumps to `adder-process`, while A.6
/// defines `adder_process`.
pub mod item_17 {}

/// Errata 18: a sequential trace is a shared call tree.
///
/// If every procedure calls the next one twice and the violation comes after the return, the shortest run has
/// 2^N steps. A trace therefore describes each run of a procedure once, by its steps, and refers to it from
/// every call that enters and leaves the procedure in the same way. The code that replays a trace remembers
/// which of these runs it has checked. Printing expands the tree on demand and says how many steps it leaves
/// out.
pub mod item_18 {}

/// Errata 19: thread states and atomic sections.
///
/// The state of a thread is a valuation of the shared variables together with a valuation of its locals and
/// its program counter. Atomicity is strong: while a thread is in an atomic section, no other thread makes a
/// step. Atomic sections do not nest. A thread that ends inside its atomic section releases it; this is our
/// decision, since table 5.1 of \[B\] would leave the system locked. A thread that blocks inside its atomic
/// section blocks the whole system.
pub mod item_19 {}

/// Errata 20: how threads start and end.
///
/// `start_thread goto L` starts a thread at label `L` with a copy of the locals. `ASYNC_n: f();` starts a
/// thread that runs `f`. If as many threads are alive as the bound allows, both are a `skip`. `end_thread`,
/// `thread_end` and a return from the procedure that the thread was started with end the thread. In thread
/// transition systems, the arrow `+>` at the bound changes the shared state, and no thread appears.
pub mod item_20 {}

/// Errata 21: partial-order reduction misses bugs as printed.
///
/// This is about chapter 6 of \[B\]; a small program confirmed the error. If thread A is at `assume(F)` and
/// is chosen as an ample set of its own, there is no successor, and a failing assertion of thread B is never
/// reached. A statement that can block (`assume`, `constrain`, `enforce`, `atomic_begin`) is never an ample
/// set of its own, unless it is known to be enabled in every valuation of the state. `assume` and `constrain`
/// count as writes. The sets of future reads and writes include those of threads that are not started yet.
/// `x$` writes the locals of all other threads.
pub mod item_21 {}

/// Errata 22: live variables in programs with threads.
///
/// Shared variables are always live, and so are locals that other threads read as `x$`. `enforce` reads its
/// variables everywhere in its procedure.
pub mod item_22 {}

/// Errata 23: counter updates in the thesis.
///
/// Algorithm 7.1 of \[B\], UPDATECOUNTERS, has to test and update F' and not F; otherwise {(A, 2)} becomes
/// {(A, 1), (A, 3)}, which a small program confirmed. Algorithm 8.1 has to store the accelerated state. In
/// algorithm 8.2, F' starts as F, and the `else` in line 11 belongs to the test in line 5.
pub mod item_23 {}

/// Errata 24: the Cartesian form cannot relate shared and local variables.
///
/// In section 7.4 of \[B\] each component is kept by itself, so that relations between shared and local
/// variables are lost. Either split on the variables that occur in both, or keep one guard over all
/// components and give each of `n` threads in the same symbolic local state its own copies of the choices.
pub mod item_24 {}

/// Errata 25: candidates of cutoffs.
///
/// In theorem 8(i) of \[C\], `(s, h_j)` is meant. If `h_i` equals `h_j`, a candidate is realizable only if
/// *two* threads can be in that local state at once. That two rounds in a row reach the same thread states
/// proves nothing.
pub mod item_25 {}

/// Errata 26: cutoffs with thread creation and broadcasts.
///
/// \[C\] has neither, and with them its test is wrong: `0 0 +> 0 1` has no candidate for one thread, yet two
/// threads reach more. A small program confirmed this. If a created thread starts in a thread state that `m`
/// threads do not reach, `m` is not a cutoff. For a transition that also moves passive threads, from shared
/// state `r` to shared state `s`, the candidates are the pairs `(r, h_i)`, `(r, h_j)` such that `(s, h')` is
/// not reached for some `h'` to which a passive thread in `h_j` can move; the case `r = s` is included.
pub mod item_26 {}

/// Errata 27: a cutoff decides targets with a single thread only.
///
/// `0 0 -> 0 1` has cutoff 1, but the target `0|1,1` needs two threads. The verdict for a target with several
/// threads comes from a coverability check. With thread creation, round `n` is about runs with *at most* `n`
/// threads, and the report has to say so.
pub mod item_27 {}

/// Errata 28: misprints in the definition of multi-transfer nets.
///
/// In \[D\], "enabled if I >= m" means `m >= I`. "One of the following" means the first two conditions
/// together with one of the last two. Minus signs are missing. The token count after firing is `m'(p_i) =
/// m(p_i) + k_i`. `Lambda_i` means `Omega_i`. In figure 4, line 7 means `val(n_i) = i`, and line 11 joins
/// `T_c`.
pub mod item_28 {}

/// Errata 29: the minimal coverability tree with subtree deletion is incomplete.
///
/// Figure 1 of \[L\] uses Finkel's minimal coverability tree, which deletes subtrees and can lose markings
/// that way. Use a corrected construction instead: P.-A. Reynier and F. Servais (2011), or A. Finkel, S.
/// Haddad and I. Khmelnitsky (2020).
pub mod item_29 {}

/// Errata 30: ordinary acceleration is unsound with transfers and resets.
///
/// `p >= 1 -> q' = q + p, p' = 2` leads from (1, 0) to the larger marking (2, 1), yet `p` never exceeds 2; a
/// small program confirmed this. A marking that was accelerated in the ordinary way is therefore not an
/// under-approximation and must not be given to the algorithm of \[M\]. A sequence may be accelerated only to
/// its exact limit. Let `d = f(x) - x`, where `f` is the effect of the sequence. A place becomes unbounded
/// only if it lies on a cycle of the sequence's transfer map that is reached from the support of `d`, with
/// one fixed resolution of all moves that have several destinations. Otherwise the sequence is not
/// accelerated. "Safe" comes from the backward search.
pub mod item_30 {}

/// Errata 31: minimal uncoverability proofs: order and initial states.
///
/// Definition 4 of \[M\] prints the order the wrong way round: `v` must not *cover* `u` or any `s`. In
/// algorithm 3, line 1 and the test `p in I` mean the *downward closure* of the initial states, which matters
/// for `0|0` and for every condition `x = c`. Line 9 assigns `zeta(w)`. Line 14 is a single pass over the
/// remaining minimal vertices that cover a withdrawn candidate; as a loop it does not end if no candidate is
/// left.
pub mod item_31 {}

/// Errata 32: predecessors through passive moves.
///
/// A token that is needed in a place `q` may come from every place whose tokens can move to `q`, and from `q`
/// itself if the transition does not list `q`. There is no predecessor only if no such place exists and the
/// moving thread does not supply the token. Swaps and moves that may also stay occur in real files. Only the
/// minimal distributions over the suppliers are generated, and subsumed ones are dropped on the way; the full
/// product is too large.
pub mod item_32 {}

/// Errata 33: no dense tables over states.
///
/// One real file has 52,429 shared states, 524,289 local states and a single transition; others have 27,370
/// transitions over 754 places. Nothing may allocate a table over all shared states, all local states, or all
/// pairs of them.
pub mod item_33 {}

/// Errata 34: when a label is reached.
///
/// A label is reached when control passes the position at which the label stands. So `if (F) then skip; L:
/// fi`, `while (F) do skip; L: od`, `L: ;` in a branch that is never taken, and `goto M; L: ; M: skip` do not
/// reach `L`. To ask for a label that exists only in procedures that nobody calls is not an error: the answer
/// is "safe", with a warning.
pub mod item_34 {}

/// Errata 35: all threads follow the same rules.
///
/// Creating a thread is like a call. The new thread is at its entry with arbitrary locals that satisfy its
/// `enforce`; if there are none, the creation blocks the thread that creates it. From then on `enforce`
/// restricts only the thread's own statements: it has to hold after each of them, `return` included, and it
/// is not asked for by steps that no statement makes, such as the step from the entry to the first statement.
/// The same rules apply to `main`, to replicated copies and to the threads of Getafix, including the first.
/// Exchanging the texts of two threads must not change the verdict. A `decl` inside a loop declares a local
/// of the procedure, and that local does not get a new value in each iteration.
pub mod item_35 {}

/// Errata 36: replicated threads exist from the start.
///
/// With `--replicate`, all copies of `main` (a given number, or any number) exist before any of them moves.
/// What one of them does with `x$` in its first step affects all the others. Whatever Cusp adds before `main`
/// is one indivisible step.
pub mod item_36 {}

/// Errata 37: the variable `atomic` of Getafix.
///
/// While the global `atomic` is true, only the thread that made the last step may go on. As long as no thread
/// has made a step since `init`, any thread may be the first.
pub mod item_37 {}
