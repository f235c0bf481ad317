/// One message of a pipeline, and the purpose of its answer.
struct PipelineStep: Sendable {
    enum Command: Sendable {
        case prepare(String)
        case execute(String)
        /// Executes without a prepared name.
        case query
        case synchronize
    }

    enum Purpose {
        /// A caller's statement, whose rows the caller gets.
        case answer
        /// Sent before the caller's statement: BEGIN, SAVEPOINT, or a Parse message.
        case control
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

    static func synchronize(_ purpose: Purpose) -> PipelineStep {
        PipelineStep(command: .synchronize, statement: "", purpose: purpose)
    }

    static func control(_ statement: Statement) -> PipelineStep {
        PipelineStep(command: .query, statement: statement, purpose: .control)
    }
}
