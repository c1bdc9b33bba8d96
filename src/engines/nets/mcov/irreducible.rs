//! Removes elements from a proof that it does not need.
//!
//! A *demand* is a target, or a predecessor of an element of the proof. It must be above some element; the elements
//! below it *answer* the demand, and one answer is enough. A subset of a proof is a proof iff all demands of its
//! elements and of the targets are answered in it. This module finds a subset of which no smaller subset is a
//! proof: the second half of the definition of a minimal uncoverability proof (Kaiser, Kroening, Wahl, CONCUR 2012,
//! definition 2).
//!
//! Theorem used: if a demand has only one answer, that element is needed. An element that a subset needs is also
//! needed by all smaller subsets. So an element that was found to be needed is never tried again, and each element
//! is tried only once: it is removed together with all elements that then have an unanswered demand, unless one of
//! these is needed or a target becomes unanswered.

use crate::budget::Budget;
use crate::engines::nets::sets::vectors::Vectors;
use crate::net::{Marking, Overflow};

/// The greatest number of answers, each of which takes a few bytes. With more, no element is removed.
const MOST_ANSWERS: usize = 20_000_000;

/// A marking that must be above some element.
struct Demand {
    /// The element of which it is a predecessor; `None` for a target.
    owner: Option<u32>,
    /// The elements that answer the demand.
    answers: Vec<u32>,
    /// The number of answers that were not removed.
    left: usize,
}

struct Search {
    demands: Vec<Demand>,
    /// For each element, the demands that it answers.
    answered: Vec<Vec<u32>>,
    /// For each element, the demands that it has.
    asked: Vec<Vec<u32>>,
    stays: Vec<bool>,
    needed: Vec<bool>,
}

/// The elements of a subset of which no smaller subset is a proof, in the given order.
///
/// `obligations` returns the markings that must be above some element as long as the given element stays; markings
/// above the element itself may be left out. When the budget is used up, the elements that are left then are
/// returned.
///
/// # Errors
/// If there would be too many tokens.
pub fn irreducible<'t>(
    elements: Vec<Marking>,
    places: usize,
    targets: impl IntoIterator<Item = &'t Marking>,
    mut obligations: impl FnMut(&Marking) -> Result<Vec<Marking>, Overflow>,
    budget: &Budget,
) -> Result<Vec<Marking>, Overflow> {
    let mut index = Vectors::new(places);
    for element in &elements {
        index.insert(element.entries());
    }
    let count = elements.len();
    let mut search = Search {
        demands: Vec::new(),
        answered: vec![Vec::new(); count],
        asked: vec![Vec::new(); count],
        stays: vec![true; count],
        needed: vec![false; count],
    };
    let mut answers = 0;
    for target in targets {
        answers += search.demand(None, &index, target);
    }
    for (element, owner) in elements.iter().zip(0_u32..) {
        for obligation in obligations(element)? {
            answers += search.demand(Some(owner), &index, &obligation);
        }
        if answers > MOST_ANSWERS || budget.exhausted().is_some() {
            return Ok(elements);
        }
    }
    search.run(budget);
    let kept = elements.into_iter().zip(search.stays).filter(|&(_, stays)| stays);
    Ok(kept.map(|(element, _)| element).collect())
}

impl Search {
    /// Records that some element has to be below this marking, and returns the number of elements that are.
    fn demand(&mut self, owner: Option<u32>, index: &Vectors, marking: &Marking) -> usize {
        let mut answers: Vec<u32> = index.below(marking.entries()).collect();
        // Nothing has to be recorded if no element is below the marking, or if the owner itself is below it.
        if answers.is_empty() || owner.is_some_and(|owner| answers.contains(&owner)) {
            return 0;
        }
        answers.sort_unstable();
        let number = self.demands.len() as u32;
        for &id in &answers {
            self.answered[id as usize].push(number);
        }
        if let Some(owner) = owner {
            self.asked[owner as usize].push(number);
        }
        let left = answers.len();
        self.demands.push(Demand { owner, answers, left });
        left
    }

    fn run(&mut self, budget: &Budget) {
        let all: Vec<u32> = (0..self.demands.len() as u32).collect();
        self.settle(&all);
        for element in 0..self.stays.len() as u32 {
            if budget.exhausted().is_some() {
                return;
            }
            if !self.stays[element as usize] || self.needed[element as usize] {
                continue;
            }
            let mut touched = Vec::new();
            let mut gone = Vec::new();
            if self.drop_with_consequences(element, &mut gone, &mut touched) {
                self.settle(&touched);
            } else {
                for demand in touched {
                    self.demands[demand as usize].left += 1;
                }
                for id in gone {
                    self.stays[id as usize] = true;
                }
                self.need(element);
            }
        }
    }

    /// For each of these demands that a target or a needed element has: if it has only one answer left, marks that
    /// element as needed.
    fn settle(&mut self, demands: &[u32]) {
        for &demand in demands {
            let Demand { owner, left, .. } = self.demands[demand as usize];
            if left == 1 && owner.is_none_or(|owner| self.needed[owner as usize]) {
                self.need_only_answer(demand);
            }
        }
    }

    fn need_only_answer(&mut self, demand: u32) {
        let answers = &self.demands[demand as usize].answers;
        if let Some(&only) = answers.iter().find(|&&id| self.stays[id as usize]) {
            self.need(only);
        }
    }

    /// Marks an element as needed, and all elements that it needs.
    fn need(&mut self, element: u32) {
        let mut open = vec![element];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut self.needed[id as usize], true) {
                continue;
            }
            for &demand in &self.asked[id as usize] {
                let demand = &self.demands[demand as usize];
                if demand.left == 1 {
                    open.extend(demand.answers.iter().copied().filter(|&id| self.stays[id as usize]));
                }
            }
        }
    }

    /// Removes an element, and those that then have an unanswered demand. Returns false if one of these is needed,
    /// or if a target becomes unanswered. `touched` gets the demands that have lost an answer, once for each lost
    /// answer.
    fn drop_with_consequences(&mut self, element: u32, gone: &mut Vec<u32>, touched: &mut Vec<u32>) -> bool {
        gone.push(element);
        self.stays[element as usize] = false;
        let mut next = 0;
        while let Some(&id) = gone.get(next) {
            next += 1;
            for &number in &self.answered[id as usize] {
                let demand = &mut self.demands[number as usize];
                demand.left -= 1;
                touched.push(number);
                if demand.left > 0 {
                    continue;
                }
                match demand.owner {
                    None => return false,
                    Some(owner) if self.needed[owner as usize] => return false,
                    Some(owner) if std::mem::replace(&mut self.stays[owner as usize], false) => {
                        gone.push(owner);
                    }
                    Some(_) => {}
                }
            }
        }
        true
    }
}
