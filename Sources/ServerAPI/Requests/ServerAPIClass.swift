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
}
