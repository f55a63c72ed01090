//! Sentences about unordered pairs.

use standstill_findings::Rule;

use crate::conflict::{Actor, Conflict, Deed, Name};
use crate::report::Places;

fn verb(deed: Deed) -> &'static str {
    match deed {
        Deed::Read => "reads",
        Deed::Write => "writes",
        Deed::Update => "updates",
        Deed::May => "has a pointer to",
        Deed::MayRead => "has a pointer to",
        Deed::MayWrite => "has a pointer to",
        Deed::Begin => "makes usable",
        Deed::End => "gives back",
    }
}

/// How a stream is called.
pub(crate) fn stream_name(stream: u64) -> String {
    if stream == 0 { "the default stream".to_owned() } else { format!("stream {stream}") }
}

/// Words about actors.
pub(crate) struct Words<'a> {
    pub(crate) places: &'a dyn Places,
}

impl Words<'_> {
    fn name(&self, actor: &Actor) -> String {
        match &actor.name {
            Name::Kernel(symbol) => format!("kernel `{}`", self.places.readable(symbol)),
            other => other.to_string(),
        }
    }

    fn who(&self, actor: &Actor) -> String {
        let name = self.name(actor);
        match actor.stream {
            Some(stream) => format!("the {name} on {}", stream_name(stream)),
            None => name,
        }
    }

    pub(crate) fn label(&self, actor: &Actor, deed: Deed) -> String {
        format!("{} {} the bytes", self.who(actor), verb(deed))
    }

    /// One sentence: who touches what while who may still.
    pub(crate) fn message(&self, conflict: &Conflict) -> String {
        let ((earlier, first), (later, second)) = (&conflict.earlier, &conflict.later);
        let (a, b) = (self.who(earlier), self.who(later));
        let doing = |deed: Deed| match deed {
            Deed::Read => "read",
            Deed::Write => "write",
            Deed::Update => "update",
            Deed::May => "touch",
            Deed::MayRead => "read",
            Deed::MayWrite => "write",
            Deed::Begin => "not have made usable",
            Deed::End => "have given back",
        };
        let clash = format!("{b} {} memory that {a} may still {}", verb(*second), doing(*first));
        match conflict.rule {
            Rule::HostCallback if conflict.bytes == 0 => {
                format!("{} is called in a host function, which must not call CUDA", self.name(later))
            }
            Rule::UncheckedAsyncError => {
                format!(
                    "{} surfaces at an unrelated call: {} caused it and was not checked",
                    self.name(later),
                    self.name(earlier)
                )
            }
            Rule::AllocOrder if *first == Deed::Begin => {
                format!("{b} {} stream-ordered memory that {a} need not have made usable yet", verb(*second))
            }
            Rule::AllocOrder => {
                format!("{b} {} stream-ordered memory that {a} has given back", verb(*second))
            }
            Rule::EventRecordedEarly => {
                format!("{clash}: the event that it waits for was recorded before that")
            }
            Rule::WaitUnrecorded => format!("{clash}: the event that it waits for was never recorded"),
            Rule::EventRerecorded => {
                format!("{clash}: the event that it waits for has been recorded again for something else")
            }
            Rule::BufferReuse => format!("{b} refills a buffer that {a} may still {}", doing(*first)),
            Rule::DefaultStream => format!("{clash}: the default stream gives no order here"),
            Rule::GraphDependency => format!("{clash}: the graph has no edge between them"),
            _ => format!("{clash}: nothing orders them"),
        }
    }
}
