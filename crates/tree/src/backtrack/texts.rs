//! Texts about backtracking that the model reads. See also [`crate::PlanError::InvalidCheckpoint`].

/// The backtrack happens after the other tools of the turn finish.
pub const SCHEDULED: &str = "Backtrack scheduled";

pub const ALREADY_PENDING: &str = "Only one backtrack can be pending at a time";

/// For example in a sub-agent, which has no checkpoints.
pub const UNAVAILABLE: &str = "Backtrack is not available in this context";

/// Followed by the details.
pub const INVALID_ARGUMENTS: &str = "Invalid arguments: ";

/// The tool description.
pub const DESCRIPTION: &str = "\
Returns the conversation to an earlier checkpoint. Everything after it is removed from your context, and you continue from \
there with a note to yourself.

Use it when
- exploration cost many tokens and led nowhere,
- you read large files or outputs and need only a little of them,
- a long debugging effort is over and its result fits in a few sentences,
- you are stuck and want to try another approach from an earlier point.

The note is all you will know of the removed part. Write down
- what you found out,
- what did not work, and why,
- what you need to continue: names, locations, decisions, the next step.
The program adds which files were changed, which commands were run, what the user said and what you told the user.

Files are not reverted: everything that was written, edited or run stays in effect. Checkpoints are created automatically, \
after each user message and after each batch of tool results; you see them as <system>Checkpoint N</system>. The return \
happens when the other tools of this reply finish. Do not tell the user about it.";

/// The first paragraph of an addendum.
pub(super) const OPENING: &str =
    "The program lists what was done and said on the branch you left. All of it is still true.";

/// The last paragraph of an addendum.
pub(super) const CLOSING: &str = "Do not repeat this work, and do not repeat to the user what is listed above. Do not \
    mention this note or the return. Continue with the task.";

/// The addendum when there are no facts to list.
pub(super) const EMPTY_ADDENDUM: &str = "Do not mention this note or the return. Continue with the task.";
