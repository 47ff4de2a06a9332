//! What the model is told about returning. The error with the valid range is [`crate::PlanError::InvalidCheckpoint`].

/// The return will happen when the turn's other tools are done.
pub const SCHEDULED: &str = "Backtrack scheduled";

pub const PENDING: &str = "Only one backtrack can be pending at a time";

/// A sub-agent, for instance, has no checkpoints.
pub const UNAVAILABLE: &str = "Backtrack is not available in this context";

/// What is wrong with the arguments follows.
pub const INVALID_ARGUMENTS: &str = "Invalid arguments: ";

/// The description of the tool.
pub const DESCRIPTION: &str = "\
Returns the conversation to an earlier checkpoint. Everything after it is forgotten, and you go on from there with a note \
to yourself.

Use it when
- exploring cost many tokens and led nowhere,
- you read large files or outputs and need only little of them,
- a long search for a fault is over and its result can be told in a few sentences,
- you are stuck and want to try another way from an earlier point.

The note is all you will know of what you forget. Write down
- what you found out,
- what did not work, and why,
- what you need to go on: names, places, decisions, the next step.
The program adds which files were changed, which commands were run, what the user said and what the user was told.

Files are not changed back: whatever was written, edited or run stays so. Checkpoints come by themselves, after each message \
of the user and after each batch of tool results; you see them as <system>Checkpoint N</system>. The return happens when the \
other tools of this reply are done. Do not tell the user about it.";

/// Above what the program found.
pub(super) const OPENING: &str =
    "The program adds what was done and said in the part you left. All of it stays true.";

/// Below it.
pub(super) const CLOSING: &str = "Do not do this work again, and do not tell the user again what is told above. Do not \
    mention this note or the return. Go on with the task.";

/// When the program found nothing.
pub(super) const ONLY: &str = "Do not mention this note or the return. Go on with the task.";
