/// One message of a pipeline, and what its answer is for.
struct PipelineStep: Sendable {
    enum Command: Sendable {
        case prepare(String)
        case execute(String)
        /// Parsed, bound and executed without a name.
        case query
        case synchronize
    }

    enum Purpose {
        /// A statement of the caller, whose rows it gets.
        case answer
        /// A statement that goes before the caller's: BEGIN, SAVEPOINT, or the preparation of one.
        case control
        /// Unrelated to the caller's; a failure is nobody's.
        case housekeeping
    }

    let command: Command
    let statement: Statement
    let purpose: Purpose
    /// The cached plan that this step makes or uses.
    var plan: PreparedStatements.Key?
    /// Whether the plan was made in an earlier pipeline, and may have been overtaken by a change of the schema.
    var usesOlderPlan = false

    static func synchronize(_ purpose: Purpose) -> PipelineStep {
        PipelineStep(command: .synchronize, statement: "", purpose: purpose)
    }

    static func control(_ statement: Statement) -> PipelineStep {
        PipelineStep(command: .query, statement: statement, purpose: .control)
    }
}
