//! The syntax tree: the program as it was written.
//!
//! Invariant (flat): expressions and statements live in tables and refer to each other by id.
//! Children have smaller ids than their parents. No type contains itself, so even deeply nested
//! input cannot overflow the stack, not even when the tree is dropped.
//!
//! Invariant (faithful): the tree contains everything that is needed to print the program, including parentheses and
//! spellings. If two trees are printed as the same text, they are equal by [`Ast::same_program`].

use crate::source::Span;

define_id!(
    /// An expression of one [`Ast`].
    ExprId, "e"
);
define_id!(
    /// A statement of one [`Ast`].
    StmtId, "s"
);

/// The dialect of the language: how the tool that a program was written for reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Boom and the thesis: `=` and `!=` bind tighter than `&`.
    #[default]
    Boom,
    /// Boppo and SATABS's older printer: `=`, `!=` and `=>` bind loosest.
    Boppo,
    /// Getafix: Boom's precedences, a bare `?` is a choice, and the names of procedures say which of them are
    /// threads.
    Getafix,
}

/// A name or number with its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name. Quoted names are stored without their braces.
    pub name: String,
    /// Its span.
    pub span: Span,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=>`
    Implies,
}

/// One expression node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// `0 1 F T`
    Const(bool),
    /// `*`, and `?` in the Getafix dialect
    Choice,
    /// A variable, `'x` when `primed`; the name may end in `$`, which the resolver interprets.
    Name {
        /// The name as written, without the prime.
        name: String,
        /// Whether the value after the assignment is meant.
        primed: bool,
    },
    /// `!e`
    Not(ExprId),
    /// `(e)`, kept as written
    Paren(ExprId),
    /// `l op r`
    Binary(BinaryOp, ExprId, ExprId),
    /// `c ? t : e`
    Ite(ExprId, ExprId, ExprId),
    /// `schoose[p, n]` ([errata 3](crate::errata::item_3))
    Schoose(ExprId, ExprId),
    /// Replaces text that could not be parsed; an error was reported for it.
    Error,
}

/// An expression and its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its span.
    pub span: Span,
}

/// A target of an assignment or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A variable; the name may end in `$`.
    Name(Ident),
    /// `_`: the value is ignored.
    Drop(Span),
}

/// `name` or `name := e` of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The variable.
    pub name: Ident,
    /// Its initial value.
    pub value: Option<ExprId>,
}

/// One statement without its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// The empty statement: a single `;`, or labels before `end`, `fi`, `od`, `else`.
    Empty,
    /// `decl a, b := e;`
    Decl(Vec<Declared>),
    /// `enforce e;`
    Enforce(ExprId),
    /// `skip;`
    Skip,
    /// `goto L1, L2;`
    Goto(Vec<Ident>),
    /// `x, y := e1, e2 constrain c;`
    Assign {
        /// Left sides.
        targets: Vec<Target>,
        /// Right sides.
        values: Vec<ExprId>,
        /// The condition on old and new values.
        constrain: Option<ExprId>,
    },
    /// `f(e);` or `x, _ := f(e);`
    Call {
        /// Left sides.
        targets: Vec<Target>,
        /// The procedure.
        callee: Ident,
        /// Arguments.
        args: Vec<ExprId>,
    },
    /// `return e, ...;`
    Return(Vec<ExprId>),
    /// `assume(e);`
    Assume(ExprId),
    /// `assert(e);`
    Assert(ExprId),
    /// `abortif e;`
    AbortIf(ExprId),
    /// `constrain(e);`, the `assume` of Getafix
    Constrain(ExprId),
    /// `if c then .. elsif c then .. else .. fi`
    If {
        /// Conditions with their blocks; never empty.
        arms: Vec<(ExprId, Vec<StmtId>)>,
        /// The `else` block.
        otherwise: Option<Vec<StmtId>>,
    },
    /// `while c do .. od`
    While(ExprId, Vec<StmtId>),
    /// `dead x, y;`
    Dead(Vec<Ident>),
    /// `print(..);`, which has no effect
    Print(Vec<ExprId>),
    /// `start_thread goto L;`, or `start_thread L;` when `goto` is false
    StartThreadAt {
        /// Whether `goto` was written.
        goto: bool,
        /// The new thread's first statement.
        label: Ident,
    },
    /// `start_thread f(e);`
    StartThreadCall {
        /// The procedure that the thread runs.
        callee: Ident,
        /// Arguments.
        args: Vec<ExprId>,
    },
    /// `end_thread;` or `thread_end;`
    EndThread,
    /// `atomic_begin;`
    AtomicBegin,
    /// `atomic_end;`
    AtomicEnd,
    /// Replaces text that could not be parsed; an error was reported for it.
    Error,
}

/// A statement with its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// Labels before it, in order.
    pub labels: Vec<Ident>,
    /// What it is.
    pub kind: StmtKind,
    /// The span of the statement without its labels. For `if` and `while`, only the part up to `then` or
    /// `do`, which is what a trace shows.
    pub span: Span,
}

/// One procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Whether it was declared with the word `dfs`.
    pub dfs: bool,
    /// The written return type: `None` if missing, `Some(0)` for `void`, `Some(n)` for `bool<n>`.
    pub returns: Option<u32>,
    /// Its name.
    pub name: Ident,
    /// Parameters.
    pub params: Vec<Ident>,
    /// The body, declarations included.
    pub body: Vec<StmtId>,
    /// The span from the return type to `end`.
    pub span: Span,
    /// The span of the word `end`, where control leaves the body without a `return`.
    pub end: Span,
}

/// One item at the top level, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `decl a, b;`, with the span of the whole declaration
    Globals(Vec<Declared>, Span),
    /// A procedure.
    Procedure(Procedure),
}

/// A comment and its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The text with its delimiters, without the line break.
    pub text: String,
    /// Its span.
    pub span: Span,
    /// Whether something other than white space is before it on its line.
    pub trailing: bool,
}

/// Positions that are not in the tree. Only the printer uses them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The offsets of `elsif`, `else`, `fi` and `od`, sorted by statement and, for one statement, in the
    /// order of the text.
    pub keywords: Vec<(StmtId, u32)>,
    /// The offsets of the words and comments that follow a blank line, in the order of the text.
    pub after_blank: Vec<u32>,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// All expressions.
    pub exprs: Vec<Expr>,
    /// All statements.
    pub stmts: Vec<Stmt>,
    /// The items at the top level, in the order of the text.
    pub items: Vec<Item>,
    /// All comments, in the order of the text.
    pub comments: Vec<Comment>,
    /// Line structure; empty in a tree that was not parsed.
    pub layout: Layout,
    /// The dialect in which it was read.
    pub dialect: Dialect,
}

impl Ast {
    /// The expression with this id.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// The statement with this id.
    #[must_use]
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.index()]
    }
}
