//! Questions that stand for other questions, and the way back for evidence.
//!
//! A [`Translation`] holds a question whose answer is also the answer to the original one, and turns evidence about it
//! into evidence about the original. Reductions are translations into the same kind of question. [`Through`] makes an
//! engine out of a translation into another kind of question and an engine for that kind. Whatever comes back is
//! certified against the original question, so that translations need not be trusted.

use crate::budget::Budget;
use crate::engines::{BoxedEngine, Engine, Question, VerdictOn};
use crate::lift::Unliftable;
use crate::progress::Progress;
use crate::reason::Reason;

use super::{Reductions, Route, decide};

/// A question that stands for another one.
pub trait Translation<From: Question, To: Question>: Send + Sync {
    /// The question to decide.
    fn question(&self) -> &To;

    /// Turns a verdict on it into one on the original question. If the budget is used up before that is done, the
    /// verdict is unknown.
    ///
    /// # Errors
    /// If the evidence is of a kind that cannot be brought back.
    fn bring_back(&self, verdict: VerdictOn<To>, budget: &Budget) -> Result<VerdictOn<From>, Unliftable>;

    /// Whether no translation that keeps more would bring back what this one does not.
    fn keeps_everything(&self) -> bool {
        false
    }
}

/// A way to turn questions of one kind into questions of another.
pub trait Translator<From: Question, To: Question>: Send + Sync {
    /// Checks whether questions of this kind can be translated.
    ///
    /// # Errors
    /// Why this one cannot.
    fn accepts(&self, _question: &From) -> Result<(), Reason> {
        Ok(())
    }

    /// The question that stands for this one.
    ///
    /// # Errors
    /// Why there is none.
    fn translate<'q>(
        &self,
        question: &'q From,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Translation<From, To> + 'q>, Reason>;
}

/// An engine for one kind of question that has an engine for another kind do the work.
pub struct Through<T, To: Question> {
    /// Its name.
    pub name: &'static str,
    /// How questions are turned into others.
    pub translator: T,
    /// Who decides those.
    pub engine: BoxedEngine<To>,
}

impl<From: Question, To: Route, T: Translator<From, To>> Engine<From> for Through<T, To> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn accepts(&self, question: &From) -> Result<(), Reason> {
        self.translator.accepts(question)
    }

    /// The translated question is reduced, not the original one.
    fn reduction(&self) -> Option<From::Keep> {
        None
    }

    fn search(&self, question: &From, budget: &Budget, progress: &dyn Progress) -> VerdictOn<From> {
        let translation = match self.translator.translate(question, budget, progress) {
            Ok(translation) => translation,
            Err(reason) => return reason.into(),
        };
        let reductions = Reductions::new(translation.question(), true, budget);
        let verdict = decide(&*self.engine, &reductions, budget, progress);
        translation.bring_back(verdict, budget).unwrap_or_else(|why| Reason::GaveUp(why.to_string()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certify_net;
    use crate::evidence::net::UncoverabilityBasis;
    use crate::evidence::{FiringSequence, NetCertificate, NetVerdict, Unknown};
    use crate::net::spec;
    use crate::net::{Net, PlaceId, Target};
    use crate::progress::Quiet;
    use crate::source::Source;

    /// A net is turned into one with an additional target that cannot be met: a place that nobody marks.
    struct WithUnreachableTarget;

    struct Extended {
        net: Net,
        added: PlaceId,
    }

    impl Translator<Net, Net> for WithUnreachableTarget {
        fn translate<'q>(
            &self,
            question: &'q Net,
            _budget: &Budget,
            _progress: &dyn Progress,
        ) -> Result<Box<dyn Translation<Net, Net> + 'q>, Reason> {
            if question.targets.is_empty() {
                return Err(Reason::GaveUp("there is no target".to_owned()));
            }
            let mut net = question.clone();
            let added = PlaceId::from_index(net.places.len());
            let mut place = net.places[0].clone();
            place.name = "added".to_owned();
            net.places.push(place);
            let least = crate::net::Marking::sum_of([(added, 1)]).expect("one token");
            net.targets.push(Target { least, ..Target::default() });
            Ok(Box::new(Extended { net, added }))
        }
    }

    impl Translation<Net, Net> for Extended {
        fn question(&self) -> &Net {
            &self.net
        }

        fn bring_back(&self, verdict: NetVerdict, _budget: &Budget) -> Result<NetVerdict, Unliftable> {
            match verdict {
                NetVerdict::Unsafe(FiringSequence { initial, steps }) => {
                    Ok(NetVerdict::Unsafe(FiringSequence { initial, steps }))
                }
                NetVerdict::Safe(NetCertificate::Basis(basis)) => {
                    let never_marked = basis.never_marked.into_iter().filter(|&p| p != self.added).collect();
                    let elements = basis
                        .elements
                        .into_iter()
                        .filter(|e| e.iter().all(|(p, _)| p != self.added))
                        .collect();
                    let basis = UncoverabilityBasis { never_marked, elements, invariants: basis.invariants };
                    Ok(NetVerdict::Safe(NetCertificate::Basis(basis)))
                }
                NetVerdict::Safe(_) => Err(Unliftable("a coverability set")),
                NetVerdict::Unknown(Unknown { reason, seen }) => {
                    Ok(NetVerdict::Unknown(Unknown { reason, seen }))
                }
            }
        }
    }

    fn net(text: &str) -> Net {
        spec::parse(&Source::new("test.spec", text)).expect("a net").0
    }

    #[test]
    fn evidence_comes_back_through_a_translation_and_is_certified_against_the_original() {
        let through = |engine| Through { name: "through", translator: WithUnreachableTarget, engine };
        let rows = <Net as crate::pipeline::table::HasEngines>::ENGINES;
        for (target, expected) in [("b >= 2", "unsafe"), ("c >= 1", "safe")] {
            let text = format!(
                "vars a b c rules a >= 1 -> a' = a - 1, b' = b + 1; init a >= 1, b = 0, c = 0 target {target}"
            );
            let net = net(&text);
            for row in rows.iter().filter(|row| ["backward", "mcov", "reference"].contains(&row.name)) {
                let engine = through(row.engine(crate::engines::Bounds::default()));
                let budget = Budget::unlimited();
                let verdict = engine.run(&net, &budget, &Quiet);
                let certified = certify_net(&net, verdict, &budget).expect("evidence about the original net");
                if certified.verdict().is_decided() {
                    assert_eq!(certified.verdict().word(), expected, "{} on {target}", row.name);
                } else {
                    // Only evidence that cannot be brought back may be lost.
                    assert_eq!((row.name, expected), ("mcov", "safe"));
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_translated_is_unknown_with_the_reason() {
        let mut net = net("vars a rules init a = 0 target a >= 1");
        net.targets.clear();
        let engine =
            <Net as crate::pipeline::table::HasEngines>::ENGINES[0].engine(crate::engines::Bounds::default());
        let through = Through { name: "through", translator: WithUnreachableTarget, engine };
        let NetVerdict::Unknown(unknown) = through.run(&net, &Budget::unlimited(), &Quiet) else {
            panic!("an answer without a translation");
        };
        assert_eq!(unknown.reason, Reason::GaveUp("there is no target".to_owned()));
    }
}
