//! Label selectors, as text (`a in (x,y),!b`) and as objects (`matchLabels`, `matchExpressions`).
//!
//! Source: apimachinery `pkg/labels/selector.go`.

use crate::value::{Text, Value};

/// How a requirement compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The value is one of these.
    In,
    /// The value is none of these, or the key is absent.
    NotIn,
    /// The key is present.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The value is a number above this.
    GreaterThan,
    /// The value is a number below this.
    LessThan,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: Text,
    /// The comparison.
    pub operator: Operator,
    /// What it compares with.
    pub values: Vec<Text>,
}

impl Requirement {
    /// Whether an object with these labels (a map, or null) meets the requirement.
    pub fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).and_then(Value::as_str);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|bound| number(bound));
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.iter().any(|one| one == value)),
            Operator::NotIn => value.is_none_or(|value| self.values.iter().all(|one| one != value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => value.and_then(number).zip(bound()).is_some_and(|(value, bound)| value < bound),
        }
    }
}

/// A conjunction of requirements; an empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// All must hold.
    pub requirements: Vec<Requirement>,
    nothing: bool,
}

impl Selector {
    /// Selects no object (what a null `LabelSelector` means).
    pub fn nothing() -> Selector {
        Selector { requirements: Vec::new(), nothing: true }
    }

    /// Whether an object with these labels (a map, or null) is selected.
    pub fn matches(&self, labels: &Value) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// From a map of labels that must be equal (`nodeSelector`, Service selectors).
    pub fn of_labels(labels: &Value) -> Selector {
        let requirements = labels.entries().iter().map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![value.text()],
        });
        Selector { requirements: requirements.collect(), nothing: false }
    }

    /// From a `LabelSelector` object; null selects nothing, `{}` everything.
    pub fn of_object(selector: &Value) -> Selector {
        if selector.is_null() {
            return Selector::nothing();
        }
        let mut made = Selector::of_labels(selector.at(&["matchLabels"]));
        made.requirements.extend(selector.at(&["matchExpressions"]).items().iter().filter_map(Selector::expression));
        made
    }

    /// From one `{key, operator, values}` of a label selector or node selector term; `None` for an unknown operator.
    pub fn expression(expression: &Value) -> Option<Requirement> {
        let operator = match expression.at(&["operator"]).str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::GreaterThan,
            "Lt" => Operator::LessThan,
            _ => return None,
        };
        let values = expression.at(&["values"]).items().iter().map(Value::text).collect();
        Some(Requirement { key: expression.at(&["key"]).text(), operator, values })
    }

    /// From the text of a `labelSelector` parameter.
    ///
    /// # Errors
    /// The parser's words, as the API server prints them.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let tokens = tokens(text);
        let mut parser = Parser { tokens: &tokens };
        let requirements = parser.requirements()?;
        Ok(Selector { requirements, nothing: false })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Sign(&'a str),
    End,
}

impl Token<'_> {
    fn literal(&self) -> &str {
        match self {
            Token::Word(text) | Token::Sign(text) => text,
            Token::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = ["==", "!=", "=", "!", ",", "(", ")", "<", ">"].into_iter().find(|sign| rest.starts_with(sign));
        let (token, length) = match sign {
            Some(sign) => (Token::Sign(&rest[..sign.len()]), sign.len()),
            None => {
                let end = rest.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.first().copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or(&[]);
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End if requirements.is_empty() => return Ok(requirements),
                Token::Word(_) | Token::Sign("!") => {
                    let requirement = self.requirement();
                    requirements.push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
                }
                other => {
                    return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.literal()));
                }
            }
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Sign(",") if matches!(self.peek(), Token::Word(_) | Token::Sign("!")) => {}
                Token::Sign(",") => {
                    let found = self.peek();
                    return Err(format!("found '{}', expected: identifier after ','", found.literal()));
                }
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.literal())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Sign("!");
        if absent {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => Text::from(key),
            other => return Err(format!("found '{}', expected: identifier", other.literal())),
        };
        if absent {
            return Ok(Requirement { key, operator: Operator::DoesNotExist, values: Vec::new() });
        }
        let operator = match self.peek() {
            Token::End | Token::Sign(",") => {
                return Ok(Requirement { key, operator: Operator::Exists, values: Vec::new() });
            }
            Token::Sign("=" | "==") | Token::Word("in") => Operator::In,
            Token::Sign("!=") | Token::Word("notin") => Operator::NotIn,
            Token::Sign(">") => Operator::GreaterThan,
            Token::Sign("<") => Operator::LessThan,
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.literal())),
        };
        let values = if matches!(self.take(), Token::Word(_)) { self.set()? } else { vec![self.exact()] };
        Ok(Requirement { key, operator, values })
    }

    /// The value after `=`; nothing there means the empty value.
    fn exact(&mut self) -> Text {
        match self.peek() {
            Token::Word(value) => {
                self.take();
                Text::from(value)
            }
            _ => Text::default(),
        }
    }

    fn set(&mut self) -> Result<Vec<Text>, String> {
        if self.peek() != Token::Sign("(") {
            return Err(format!("found '{}' expected: '('", self.peek().literal()));
        }
        self.take();
        let mut values = vec![self.exact()];
        loop {
            match self.take() {
                Token::Sign(")") => return Ok(values),
                Token::Sign(",") => values.push(self.exact()),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.literal())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    #[test]
    fn selects_as_the_server_does() {
        let labels = object! { "a" => "1", "b" => "" };
        for (text, selected) in [
            ("", true),
            ("a=1", true),
            ("a==1", true),
            ("a!=1", false),
            ("c!=1", true),
            ("a in (1,2)", true),
            ("a notin (1,2),b", false),
            ("c notin (1)", true),
            ("!c", true),
            ("!a", false),
            ("b in ()", true),
            ("b=", true),
            ("a>0", true),
            ("a<1", false),
            ("b>0", false),
            ("a,b", true),
            (" a = 1 , b ", true),
        ] {
            assert_eq!(Selector::parse(text).map(|selector| selector.matches(&labels)), Ok(selected), "{text}");
        }
    }

    #[test]
    fn says_what_it_expected() {
        let error = Selector::parse("==").expect_err("no key");
        assert_eq!(error, "found '==', expected: !, identifier, or 'end of string'");
        for text in ["a in 1", "a in (1", "a b", "a,", "a,,b", "(a)"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn null_selects_nothing_and_empty_everything() {
        assert!(!Selector::of_object(&Value::Null).matches(&Value::Null));
        assert!(Selector::of_object(&Value::object()).matches(&Value::Null));
    }
}
