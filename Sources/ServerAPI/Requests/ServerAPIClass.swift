/// The urgency of a request. All classes draw from one budget, each only while enough is left for the more urgent ones. The raw value is the
/// column `priority` of the outbox.
package enum ServerAPIClass: Int, CaseIterable, Sendable {
    /// Consumption and tests: what has a deadline.
    case deadline
    /// A person or a program waits.
    case interactive
    case reconcile
    case history
    case `import`

    /// The name in metrics and in `appstore.api_budgets`.
    package var name: String {
        switch self {
        case .deadline: "deadline"
        case .interactive: "interactive"
        case .reconcile: "reconcile"
        case .history: "history"
        case .import: "import"
        }
    }
}
