/// One message of a pipeline, and the purpose of its answer.
struct PipelineStep: Sendable {
    enum Command: Sendable {
        case prepare(String)
        case execute(String)
        /// Executes without a prepared name.
        case query
        /// Has the server send its answers so far. It has no answer of its own.
        case flush
        case synchronize
    }

    enum Purpose {
        /// A caller's statement, whose rows the caller gets.
        case answer
        /// Sent before the caller's statement: BEGIN, or a Parse message.
        case control
        /// The end of an implicit transaction: its answer comes after the commit.
        case commit
        /// Unrelated to the caller's statements; a failure is only logged.
        case housekeeping
    }

    let command: Command
    let statement: Statement
    let purpose: Purpose
    /// The cached plan that this step creates or uses.
    var plan: PreparedStatements.Key?
    /// Whether an earlier pipeline created the plan, so that the schema may have changed since.
    var usesOlderPlan = false

    var isFlush: Bool {
        if case .flush = command { true } else { false }
    }

    static func synchronize(_ purpose: Purpose) -> PipelineStep {
        PipelineStep(command: .synchronize, statement: "", purpose: purpose)
    }

    static let flush = PipelineStep(command: .flush, statement: "", purpose: .control)

    static func control(_ statement: Statement) -> PipelineStep {
        PipelineStep(command: .query, statement: statement, purpose: .control)
    }
}
