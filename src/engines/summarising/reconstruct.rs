//! Builds runs backwards from the tables.
//!
//! Every addition stores the run of a block that made it, and that run used only additions with smaller stamps. So
//! the run that leads to a given pair of states is found block by block. The formula of the block, with the pair
//! required, has a model. The model gives the edges of the path, the states at the beginning of the block, and the
//! entry and exit of every call. The pairs that lead there were added earlier, so the same is done for them.
//!
//! Runs of callees are requests that are processed one after the other, and equal requests are made only once. So
//! the result is a shared call tree, and no recursion is needed.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::run::Run;
use super::sat;
use super::tables::{Origin, Source, Tables, equals};
use crate::symbolic::trace::{Outline, OutlineEnd, OutlineStep, complete};
use crate::symbolic::walk::{End, Goal, Walk, walk};
use cusp_encodings::{Term, VarId};

use crate::evidence::trace::CallTree;
use crate::evidence::{Place, Reason};
use crate::model::{Action, Node, ProcId, Procedure};

/// Values by slot; `None` where the value does not matter.
type Values = Vec<Option<bool>>;

/// A request for a run of a procedure.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Request {
    procedure: ProcId,
    /// Where the run ends: at the exit, or with a violation.
    place: Place,
    /// The addition that contains the pair of states.
    addition: usize,
    entry: Values,
    now: Values,
}

/// The result of a reconstruction.
pub enum Reconstructed {
    /// A run from the start to a violation.
    Trace(CallTree),
    /// The run goes through calls of these procedures, about whose results nothing is assumed.
    Guessed(Vec<ProcId>),
}

/// The run to a violation inside a block, where the block starts in reachable states.
///
/// # Errors
/// Why there is no answer.
pub fn reachable_violation(
    tables: &mut Tables<'_>,
    procedure: ProcId,
    source: Source,
) -> Result<Reconstructed, Reason> {
    let mut builder = Builder::new(tables, &|_| None);
    let Some(mut piece) =
        builder.piece(procedure, &source, Goal::Failure, |run, tables| run.fails(&mut tables.arena))?
    else {
        return Err(Reason::GaveUp("a violation could not be reconstructed".to_owned()));
    };
    // This goes from the violation up to the start, through the calls that do not return.
    let (mut procedure, mut source) = (procedure, source);
    let mut child: Option<usize> = None;
    loop {
        let end = match piece.walk.end {
            End::Violation(violation) => OutlineEnd::Violation(violation),
            End::Inside(call) => {
                let edge = piece.run.block.calls[call].edge;
                OutlineEnd::Inside { edge, callee: child.unwrap_or(usize::MAX) }
            }
            End::Cut(_) => unreachable!("the goal of this run is a violation"),
        };
        let origin = builder.finish_outline(procedure, &source, piece, end)?;
        child = Some(builder.outlines.len() - 1);
        let Origin::Call { caller, source: calling, call } = origin else { break };
        let entry = builder.outlines[builder.outlines.len() - 1].entry.clone();
        let width = builder.tables.blocks.scopes.scope(procedure).entry_width();
        let wanted = builder.piece(caller, &calling, Goal::Call(call), |run, tables| {
            run.reaches_call(&mut tables.arena, call, &entry[..width])
        })?;
        piece = wanted.ok_or_else(lost)?;
        (procedure, source) = (caller, calling);
    }
    builder.complete(child.unwrap_or(0))
}

/// The run to a violation from an entry of the start procedure that may fail.
///
/// # Errors
/// Why there is no answer.
pub fn possible_violation(
    tables: &mut Tables<'_>,
    start: ProcId,
    entry: Values,
    star: &dyn Fn(ProcId) -> Option<bool>,
) -> Result<Reconstructed, Reason> {
    let mut builder = Builder::new(tables, star);
    let stamp = builder.tables.stamp();
    let root = builder.request(start, Place::Failure, stamp, entry, Vec::new())?;
    builder.complete(root)
}

struct Builder<'t, 'a> {
    tables: &'t mut Tables<'a>,
    star: &'t dyn Fn(ProcId) -> Option<bool>,
    /// The outlines of requests, and of calls that do not return. The outline of a request is empty until it is
    /// processed.
    outlines: Vec<Outline>,
    requests: FxHashMap<Request, usize>,
    open: Vec<(usize, Request)>,
    guessed: Vec<ProcId>,
}

/// A run through one block.
struct Piece {
    run: Run,
    walk: Walk,
    /// Values at the entry of the procedure.
    entry: Values,
    /// Values at the beginning of the block.
    begin: Values,
}

fn lost() -> Reason {
    Reason::GaveUp("a run could not be reconstructed".to_owned())
}

impl<'t, 'a> Builder<'t, 'a> {
    fn new(tables: &'t mut Tables<'a>, star: &'t dyn Fn(ProcId) -> Option<bool>) -> Self {
        Self {
            tables,
            star,
            outlines: Vec::new(),
            requests: FxHashMap::default(),
            open: Vec::new(),
            guessed: Vec::new(),
        }
    }

    /// Processes all requests.
    fn complete(mut self, root: usize) -> Result<Reconstructed, Reason> {
        while let Some((position, request)) = self.open.pop() {
            self.fulfil(position, &request)?;
        }
        if !self.guessed.is_empty() {
            self.guessed.sort_unstable();
            self.guessed.dedup();
            return Ok(Reconstructed::Guessed(self.guessed));
        }
        let blocks = self.tables.blocks;
        Ok(Reconstructed::Trace(complete(blocks.task, blocks.scopes, &self.outlines, root)))
    }

    /// Requests a run of a procedure, and returns the position of its outline.
    fn request(
        &mut self,
        procedure: ProcId,
        place: Place,
        stamp: u32,
        entry: Values,
        now: Values,
    ) -> Result<usize, Reason> {
        let key = (procedure, place);
        let count = self.tables.table(key).additions.partition_point(|addition| addition.stamp <= stamp);
        let addition = self.tables.find(key, 0..count, &entry, &now)?.ok_or_else(lost)?;
        let request = Request { procedure, place, addition, entry, now };
        if let Some(&position) = self.requests.get(&request) {
            return Ok(position);
        }
        let position = self.outlines.len();
        self.outlines.push(Outline {
            procedure,
            entry: Vec::new(),
            steps: Vec::new(),
            end: OutlineEnd::Exit,
        });
        self.requests.insert(request.clone(), position);
        self.open.push((position, request));
        Ok(position)
    }

    fn fulfil(&mut self, position: usize, request: &Request) -> Result<(), Reason> {
        let Request { procedure, place, addition, entry, now } = request;
        let Origin::Block(source) =
            self.tables.table((*procedure, *place)).additions[*addition].origin.clone()
        else {
            return Err(lost());
        };
        let goal = match place {
            Place::Failure => Goal::Failure,
            Place::Node(node) => Goal::Cut(*node),
        };
        let piece = self.arrive(*procedure, &source, goal, entry, now)?;
        let end = match piece.walk.end {
            End::Cut(_) => OutlineEnd::Exit,
            End::Violation(violation) => OutlineEnd::Violation(violation),
            End::Inside(call) => {
                let edge = piece.run.block.calls[call].edge;
                let callee = self.failing_callee(&piece, &source, call)?;
                OutlineEnd::Inside { edge, callee }
            }
        };
        self.finish_outline(*procedure, &source, piece, end)?;
        // The outline was appended to the list; it belongs at the position of the request.
        if let Some(outline) = self.outlines.pop() {
            self.outlines[position] = outline;
        }
        Ok(())
    }

    /// Requests the run of a call that fails.
    fn failing_callee(&mut self, piece: &Piece, source: &Source, call: usize) -> Result<usize, Reason> {
        let callee = piece.run.block.calls[call].callee;
        if (self.star)(callee).is_some() {
            self.guessed.push(callee);
            return Ok(usize::MAX);
        }
        let entry = self.entry_of(piece, call);
        self.request(callee, Place::Failure, source.stamp, entry, Vec::new())
    }

    /// The values that a call passes; `None` for those that are not live in the callee.
    fn entry_of(&self, piece: &Piece, call: usize) -> Values {
        let call = &piece.run.block.calls[call];
        let scopes = self.tables.blocks.scopes;
        let value = |(slot, &term): (usize, &Term)| {
            scopes.is_live(call.callee, Procedure::ENTRY, slot).then(|| piece.walk.value(term))
        };
        call.arguments.iter().enumerate().map(value).collect()
    }

    /// Finds a run through the block of a source that reaches a goal with these values.
    fn arrive(
        &mut self,
        procedure: ProcId,
        source: &Source,
        goal: Goal,
        entry: &Values,
        now: &Values,
    ) -> Result<Piece, Reason> {
        let piece = self.piece(procedure, source, goal, |run, tables| {
            let edge = match goal {
                Goal::Cut(node) => {
                    let position = run.block.arrivals.iter().position(|arrival| arrival.node == node);
                    let scopes = tables.blocks.scopes;
                    match position {
                        Some(position) => run.arrival(&mut tables.arena, scopes, position),
                        None => return Term::FALSE,
                    }
                }
                Goal::Failure | Goal::Call(_) => super::edge::Edge {
                    guard: run.fails(&mut tables.arena),
                    entry: run.source.entry.clone(),
                    now: Vec::new(),
                },
            };
            equals(&mut tables.arena, &edge, entry, now)
        })?;
        piece.ok_or_else(lost)
    }

    /// Finds a run through the block of a source that satisfies a condition; `None` if there is none.
    fn piece(
        &mut self,
        procedure: ProcId,
        source: &Source,
        goal: Goal,
        condition: impl FnOnce(&Run, &mut Tables<'_>) -> Term,
    ) -> Result<Option<Piece>, Reason> {
        let run = self.tables.run(procedure, source, self.star);
        let condition = condition(&run, self.tables);
        let Some(model) = sat::solve(&self.tables.arena, condition, self.tables.budget)? else {
            return Ok(None);
        };
        let arena = &self.tables.arena;
        let vars = run.block.variables();
        let images: Vec<Term> = vars.iter().map(|&var| run.image(var)).collect();
        let values: FxHashMap<VarId, bool> = vars.iter().copied().zip(model.values(arena, &images)).collect();
        let values_of = |terms: &[Option<Term>]| -> Values {
            terms.iter().map(|term| term.map(|term| model.value(arena, term))).collect()
        };
        let (entry, begin) = (values_of(&source.edge.entry), values_of(&source.edge.now));
        let walk = walk(self.tables.blocks, &run.block, |var| values[&var], goal);
        Ok(walk.map(|walk| Piece { run, walk, entry, begin }))
    }

    /// Adds the outline of a run whose last piece is known. Returns how the entry of the run was derived.
    fn finish_outline(
        &mut self,
        procedure: ProcId,
        source: &Source,
        last: Piece,
        end: OutlineEnd,
    ) -> Result<Origin, Reason> {
        let entry = last.entry.clone();
        let mut pieces = vec![(last, source.stamp)];
        let (mut node, mut range) = (source.node, source.additions.clone());
        let origin = loop {
            let begin = pieces[pieces.len() - 1].0.begin.clone();
            let origin = self.origin(procedure, node, range, &entry, &begin)?;
            let Origin::Block(source) = origin else { break origin };
            let piece = self.arrive(procedure, &source, Goal::Cut(node), &entry, &begin)?;
            pieces.push((piece, source.stamp));
            (node, range) = (source.node, source.additions);
        };
        let mut steps = Vec::new();
        let begin = pieces[pieces.len() - 1].0.begin.clone();
        for (piece, stamp) in pieces.iter().rev() {
            for step in &piece.walk.steps {
                let callee = match step.call {
                    None => None,
                    Some(call) => Some(self.returning_callee(piece, *stamp, call)?),
                };
                steps.push(OutlineStep { edge: step.edge, updates: step.updates.clone(), callee });
            }
        }
        debug_assert!(
            steps.iter().all(|step| {
                let edge = self.tables.blocks.task.program.procedure(procedure).edge(step.edge);
                matches!(edge.action, Action::Call(_)) == step.callee.is_some()
            }),
            "calls have callees"
        );
        self.outlines.push(Outline { procedure, entry: begin, steps, end });
        Ok(origin)
    }

    fn origin(
        &mut self,
        procedure: ProcId,
        node: Node,
        range: Range<usize>,
        entry: &Values,
        now: &Values,
    ) -> Result<Origin, Reason> {
        let key = (procedure, Place::Node(node));
        let position = self.tables.find(key, range, entry, now)?.ok_or_else(lost)?;
        Ok(self.tables.table(key).additions[position].origin.clone())
    }

    /// Requests the run of a call that returns.
    fn returning_callee(&mut self, piece: &Piece, stamp: u32, call: usize) -> Result<usize, Reason> {
        let entry = self.entry_of(piece, call);
        let call = &piece.run.block.calls[call];
        if (self.star)(call.callee).is_some() {
            self.guessed.push(call.callee);
            return Ok(usize::MAX);
        }
        let scope = self.tables.blocks.scopes.scope(call.callee);
        let mut now = vec![None; scope.width()];
        let arena = self.tables.blocks.arena();
        for (&slot, &result) in scope.exit_slots().iter().zip(&call.results) {
            now[slot as usize] = arena.find_var(result).map(|term| piece.walk.value(term));
        }
        drop(arena);
        self.request(call.callee, Place::Node(Procedure::EXIT), stamp, entry, now)
    }
}
