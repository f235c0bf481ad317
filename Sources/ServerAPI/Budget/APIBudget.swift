package import Outbox

/// What may be asked now. Apple's limits are for an app, an environment and an endpoint together.
package protocol APIBudget: Sendable {
    /// Takes one request.
    func take(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, _ urgency: ServerAPIClass) async -> BudgetDecision
    /// Records a 429.
    ///
    /// - Parameter delay: what Apple asks for; nil when it asks for nothing usable.
    func block(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, for delay: Duration?) async
}

package enum BudgetDecision: Hashable, Sendable {
    case granted
    /// Another class may take what is left, or the bucket is empty, or a 429 blocks the endpoint.
    case wait(Duration, isBlocked: Bool)
    /// The database did not answer.
    case unavailable
}

/// For a command that asks a few times, and whose role may spend nothing.
package struct UnlimitedBudget: APIBudget {
    package init() {}
    package func take(_: ServerAPIEndpoint, _: CallLane, _: ServerAPIClass) async -> BudgetDecision { .granted }
    package func block(_: ServerAPIEndpoint, _: CallLane, for _: Duration?) async {}
}
