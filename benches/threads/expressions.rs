//! Expressions as Promela text.
//!
//! Choices in an expression are independent of each other, so the values that it can take are known operator by
//! operator: one text says when it can be true and one when it can be false. No choice is left in either.

use cusp::model::{Op, Place};

/// The values that an expression can take, as conditions in Promela.
#[derive(Clone, Debug)]
pub enum Value {
    /// It has one value.
    Plain(String),
    /// It has choices.
    Either {
        /// When it can be true.
        hold: String,
        /// When it can be false.
        fail: String,
    },
}

impl Value {
    /// When it can be true.
    pub fn can_hold(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Either { hold, .. } => hold.clone(),
        }
    }

    /// When it can be false.
    pub fn can_fail(&self) -> String {
        match self {
            Self::Plain(text) => not(text),
            Self::Either { fail, .. } => fail.clone(),
        }
    }

    fn either(hold: String, fail: String) -> Self {
        Self::Either { hold, fail }
    }

    fn not(self) -> Self {
        match self {
            Self::Plain(text) => Self::Plain(not(&text)),
            Self::Either { hold, fail } => Self::either(fail, hold),
        }
    }

    fn and(self, other: &Self) -> Self {
        match (&self, other) {
            (Self::Plain(left), Self::Plain(right)) => Self::Plain(and(left, right)),
            _ => Self::either(
                and(&self.can_hold(), &other.can_hold()),
                or(&self.can_fail(), &other.can_fail()),
            ),
        }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(&other.not()).not()
    }

    fn xor(self, other: &Self) -> Self {
        if let (Self::Plain(left), Self::Plain(right)) = (&self, other) {
            return Self::Plain(format!("({left} != {right})"));
        }
        let both = |left: &str, right: &str| and(left, right);
        let [hold, fail] = [self.can_hold(), self.can_fail()];
        let [other_hold, other_fail] = [other.can_hold(), other.can_fail()];
        Self::either(
            or(&both(&hold, &other_fail), &both(&fail, &other_hold)),
            or(&both(&hold, &other_hold), &both(&fail, &other_fail)),
        )
    }

    fn ite(self, then: &Self, otherwise: &Self) -> Self {
        if let (Self::Plain(condition), Self::Plain(then), Self::Plain(otherwise)) = (&self, then, otherwise)
        {
            return Self::Plain(or(&and(condition, then), &and(&not(condition), otherwise)));
        }
        let pick =
            |then: &str, otherwise: &str| or(&and(&self.can_hold(), then), &and(&self.can_fail(), otherwise));
        Self::either(
            pick(&then.can_hold(), &otherwise.can_hold()),
            pick(&then.can_fail(), &otherwise.can_fail()),
        )
    }
}

/// `!e`
fn not(text: &str) -> String {
    match text {
        "1" => "0".to_owned(),
        "0" => "1".to_owned(),
        _ => format!("!({text})"),
    }
}

/// `e && f`
pub fn and(left: &str, right: &str) -> String {
    match (left, right) {
        ("0", _) | (_, "0") => "0".to_owned(),
        ("1", other) | (other, "1") => other.to_owned(),
        _ => format!("({left} && {right})"),
    }
}

fn or(left: &str, right: &str) -> String {
    match (left, right) {
        ("1", _) | (_, "1") => "1".to_owned(),
        ("0", other) | (other, "0") => other.to_owned(),
        _ => format!("({left} || {right})"),
    }
}

/// The values of an expression whose variables are written as `read` says.
pub fn value(code: &[Op], mut read: impl FnMut(Place) -> Value) -> Value {
    let mut stack: Vec<Value> = Vec::new();
    for op in code {
        let mut pop = || stack.pop().expect("balanced postfix code");
        let result = match *op {
            Op::Const(value) => Value::Plain(u8::from(value).to_string()),
            Op::Choice => Value::either("1".to_owned(), "1".to_owned()),
            Op::Read(place) => read(place),
            Op::Not => pop().not(),
            Op::And => {
                let right = pop();
                pop().and(&right)
            }
            Op::Or => {
                let right = pop();
                pop().or(right)
            }
            Op::Xor => {
                let right = pop();
                pop().xor(&right)
            }
            Op::Ite => {
                let (otherwise, then) = (pop(), pop());
                pop().ite(&then, &otherwise)
            }
        };
        stack.push(result);
    }
    stack.pop().expect("balanced postfix code")
}
