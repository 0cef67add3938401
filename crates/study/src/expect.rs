//! Which answers are a success.

/// Which answers are a success: of a request, a step, a component's setup or the functional check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// Empty: any 2xx.
    pub status: Vec<u16>,
    pub body: BodyExpect,
}

/// What the body of a good answer must be.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum BodyExpect {
    #[default]
    Any,
    Equals(String),
    /// Every one of these, at most [`crate::MAX_BODY_TEXTS`], is a part of it.
    Contains(Vec<String>),
}

impl BodyExpect {
    /// The texts with which a body is compared.
    pub fn texts_mut(&mut self) -> &mut [String] {
        match self {
            Self::Any => &mut [],
            Self::Equals(text) => std::slice::from_mut(text),
            Self::Contains(texts) => texts,
        }
    }
}
