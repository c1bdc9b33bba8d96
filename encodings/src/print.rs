//! Terms as text, for people and snapshots.
//!
//! Each root is printed on one line. A gate that is used more than once gets a name and a line of its own above the
//! roots:
//!
//! ```text
//! let s1 = x0 ^ x1
//! ite(x2, s1, !s1 & x3)
//! ```
//!
//! Complemented conjunctions print as disjunctions. Equal terms of one arena have the same text. The text
//! does not depend on other terms in the arena, only on the order in which the gates were created.

use std::fmt;

use crate::gate::{Gate, gates_below};
use crate::term::{Term, TermArena};

impl TermArena {
    /// The roots as text, one line each, after the lines of their shared gates.
    #[must_use]
    pub fn show<'a>(&'a self, roots: &'a [Term]) -> Show<'a> {
        Show { arena: self, roots }
    }
}

/// Terms that print as text; see [`TermArena::show`].
#[derive(Clone, Copy, Debug)]
pub struct Show<'a> {
    arena: &'a TermArena,
    roots: &'a [Term],
}

/// The operator around an expression, which decides whether the expression needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    And,
    Or,
    Xor,
    Not,
}

impl Around {
    const fn infix(self) -> &'static str {
        match self {
            Around::And => " & ",
            Around::Or => " | ",
            Around::Xor => " ^ ",
            Around::Nothing | Around::Not => "",
        }
    }
}

/// Pieces that are still to be printed.
#[derive(Clone, Copy)]
enum Piece {
    Text(&'static str),
    Expression(Term, Around),
    /// The definition of a gate, even though the gate has a name.
    Definition(Term),
}

impl Show<'_> {
    /// For each node, the number in its name, or 0 if it has no name.
    fn names(&self) -> (Vec<Term>, Vec<u32>) {
        let gates = gates_below(self.arena, self.roots);
        let mut uses = vec![0u32; gates.last().map_or(0, |top| top.index() + 1)];
        for &gate in &gates {
            for input in Gate::of(self.arena, gate).inputs() {
                uses[input.index()] += 1;
            }
        }
        for root in self.roots {
            uses[root.index()] += 1;
        }
        let mut shared = Vec::new();
        for gate in gates {
            let is_atom = matches!(Gate::of(self.arena, gate), Gate::True | Gate::Input(_));
            let is_shared = !is_atom && uses[gate.index()] > 1;
            if is_shared {
                shared.push(gate);
            }
            uses[gate.index()] = if is_shared { shared.len() as u32 } else { 0 };
        }
        (shared, uses)
    }

    fn write(&self, out: &mut impl fmt::Write, names: &[u32], piece: Piece) -> fmt::Result {
        let mut stack = vec![piece];
        while let Some(piece) = stack.pop() {
            let (term, around) = match piece {
                Piece::Text(text) => {
                    out.write_str(text)?;
                    continue;
                }
                Piece::Expression(term, around) => {
                    let name = names[term.index()];
                    if name != 0 {
                        write!(out, "{}s{name}", complement_sign(term))?;
                        continue;
                    }
                    (term, around)
                }
                Piece::Definition(term) => (term, Around::Nothing),
            };
            match Gate::of(self.arena, term) {
                Gate::True => write!(out, "{term}")?,
                Gate::Input(var) => write!(out, "{}{var}", complement_sign(term))?,
                Gate::And(a, b) if term.is_complemented() => {
                    push_infix(&mut stack, Around::Or, around, !a, !b);
                }
                Gate::And(a, b) => push_infix(&mut stack, Around::And, around, a, b),
                Gate::Xor(a, b) => {
                    out.write_str(complement_sign(term))?;
                    let around = if term.is_complemented() { Around::Not } else { around };
                    push_infix(&mut stack, Around::Xor, around, a, b);
                }
                Gate::Ite(condition, then, otherwise) => {
                    let [then, otherwise] =
                        [then, otherwise].map(|branch| branch.complement_if(term.is_complemented()));
                    stack.extend([
                        Piece::Text(")"),
                        Piece::Expression(otherwise, Around::Nothing),
                        Piece::Text(", "),
                        Piece::Expression(then, Around::Nothing),
                        Piece::Text(", "),
                        Piece::Expression(condition, Around::Nothing),
                        Piece::Text("ite("),
                    ]);
                }
            }
        }
        Ok(())
    }
}

/// `a operator b`, in parentheses unless it is a whole line or an operand of the same operator.
fn push_infix(stack: &mut Vec<Piece>, operator: Around, around: Around, a: Term, b: Term) {
    let is_bare = around == operator || around == Around::Nothing;
    stack.extend((!is_bare).then_some(Piece::Text(")")));
    stack.extend([
        Piece::Expression(b, operator),
        Piece::Text(operator.infix()),
        Piece::Expression(a, operator),
    ]);
    stack.extend((!is_bare).then_some(Piece::Text("(")));
}

fn complement_sign(term: Term) -> &'static str {
    if term.is_complemented() { "!" } else { "" }
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shared, names) = self.names();
        for gate in shared {
            write!(f, "let s{} = ", names[gate.index()])?;
            self.write(f, &names, Piece::Definition(gate))?;
            writeln!(f)?;
        }
        for (i, &root) in self.roots.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            self.write(f, &names, Piece::Expression(root, Around::Nothing))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn shown(build: impl FnOnce(&mut TermArena, &[Term]) -> Vec<Term>) -> String {
        let mut arena = TermArena::new();
        let vars = testing::vars(&mut arena, 5);
        let roots = build(&mut arena, &vars);
        arena.show(&roots).to_string()
    }

    #[test]
    fn literals_and_constants() {
        let text = shown(|_, x| vec![x[0], !x[1], Term::TRUE, Term::FALSE]);
        insta::assert_snapshot!(text, @r"
        x0
        !x1
        true
        false
        ");
    }

    #[test]
    fn operators_of_one_kind_need_no_parentheses() {
        let text = shown(|a, x| {
            let all = a.and_all([x[0], !x[1], x[2]]);
            let any = a.or_all([x[0], !x[1], x[2]]);
            let parity = a.xor(x[0], x[1]);
            let parity = a.xor(parity, x[2]);
            vec![all, any, parity, !parity]
        });
        insta::assert_snapshot!(text, @r"
        let s1 = x2 ^ x0 ^ x1
        x2 & x0 & !x1
        x2 | x0 | !x1
        s1
        !s1
        ");
    }

    #[test]
    fn mixed_operators_do() {
        let text = shown(|a, x| {
            let both = a.and(x[0], !x[1]);
            let parity = a.xor(x[2], x[3]);
            let either = a.or(both, !parity);
            let all = a.and(either, x[4]);
            vec![all]
        });
        insta::assert_snapshot!(text, @r"
        x4 & ((x0 & !x1) | !(x2 ^ x3))
        ");
    }

    #[test]
    fn shared_gates_get_names() {
        let text = shown(|a, x| {
            let parity = a.xor(x[0], x[1]);
            let guarded = a.and(!parity, x[3]);
            let choice = a.ite(x[2], parity, guarded);
            let again = a.or(choice, x[4]);
            vec![choice, !choice, again]
        });
        insta::assert_snapshot!(text, @r"
        let s1 = x0 ^ x1
        let s2 = ite(x2, !s1, !x3 | s1)
        !s2
        s2
        x4 | !s2
        ");
    }

    #[test]
    fn the_insides_of_an_if_then_else_do_not_show() {
        let text = shown(|a, x| {
            let choice = a.ite(x[0], x[1], !x[2]);
            let taken = a.and(x[0], x[1]);
            vec![!choice, taken]
        });
        insta::assert_snapshot!(text, @r"
        ite(x0, !x1, x2)
        x0 & x1
        ");
    }

    #[test]
    fn a_deep_chain_is_printed_without_stack() {
        let (arena, root) = testing::chain(100_000);
        assert_eq!(arena.show(&[root]).to_string().matches('x').count(), 100_000);
    }
}
